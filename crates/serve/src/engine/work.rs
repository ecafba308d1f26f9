//! The loop of an engine thread: take a batch, put the rest back, translate, report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use abridge_translate::{Control, Session, Translation, Translator, Turn};

use super::schedule::{self, Waiting};
use super::share::{ROWS, TOKENS};
use super::{Failure, Job, Report, Request, Shared, Translated, lock};
use crate::attention::AttentionView;

/// The most sentences decoded together.
const BATCH: usize = abridge_translate::BATCH_SENTENCES;

type Outcome = Result<Vec<Translated>, Failure>;

/// Runs until the engine is closed.
pub(super) fn run(shared: &Shared, translators: &[Translator]) {
    while let Some((slot, jobs)) = take(shared) {
        let Some(first) = jobs.first() else { continue };
        let translator = &translators[first.request.model];
        let before_step = |cost: usize| slot.before_step(cost);
        let beam = first.request.settings.beam.max(1);
        let control = Control {
            attention: first.request.attention,
            batch: (ROWS / beam).clamp(1, BATCH),
            batch_tokens: TOKENS,
            before_step: &before_step,
            ..Control::default()
        };
        let mut jobs = prepare(shared, translator, jobs, &control);
        let outcomes = isolated(&mut jobs, |jobs| translate(translator, jobs, &control));
        drop(slot);
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            go_on(shared, translator, &job, &outcome);
            report(shared, job, outcome);
        }
    }
}

/// The right to compute; it can be handed over between steps.
struct Slot<'a> {
    shared: &'a Shared,
    batch: schedule::Begun,
    requests: Vec<Arc<Request>>,
}

impl Slot<'_> {
    /// Charges a step, and yields to others if it is their turn.
    fn before_step(&self, cost: usize) {
        let mut schedule = self.shared.lock();
        schedule.charge(&self.batch, cost);
        if self.is_cancelled() || !schedule.gives_way(&self.batch) {
            return;
        }
        schedule.interrupt(&self.batch);
        self.shared.wake.notify_all();
        while !schedule.resume(&self.batch, self.is_cancelled()) {
            schedule = self.shared.wake.wait(schedule).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether all its requests are cancelled.
    fn is_cancelled(&self) -> bool {
        self.requests.iter().all(|request| request.is_cancelled.load(Ordering::Relaxed))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.shared.lock().end(&self.batch);
        self.shared.wake.notify_all();
    }
}

/// Waits for a turn, and takes jobs that can be decoded together.
fn take(shared: &Shared) -> Option<(Slot<'_>, Vec<Job>)> {
    let mut schedule = shared.lock();
    loop {
        // Leaves a share for idle threads.
        let most = schedule.queue.len().div_ceil(schedule.free_slots().max(1));
        let most = shared.together.min(most).max(1);
        if let Some((batch, jobs)) = schedule.begin(most, fits) {
            let requests = jobs.iter().map(|job| Arc::clone(&job.request)).collect();
            for job in &jobs {
                lock(&job.request.begun).sentences += job.share.to - job.share.from;
            }
            return Some((Slot { shared, batch, requests }, jobs));
        }
        if shared.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        schedule = shared.wake.wait(schedule).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Whether a job can be decoded with others: the same model and settings, sentences of similar
/// length, and few enough hypotheses for one step.
fn fits(taken: &[(String, Job)], job: &Job) -> bool {
    let Some((_, first)) = taken.first() else { return true };
    let (a, b) = (&first.request, &job.request);
    let rows: usize = taken.iter().map(|(_, job)| job.share.rows).sum();
    a.model == b.model
        && a.attention == b.attention
        && a.settings == b.settings
        && first.share.size == job.share.size
        && rows + job.share.rows <= ROWS
}

/// Whether each sentence of a document needs the translations of the previous ones.
fn is_sequential(translator: &Translator) -> bool {
    translator.model().config().target_context
}

/// Encodes the context of each job's share, and puts the rest back with its memory.
fn prepare(
    shared: &Shared,
    translator: &Translator,
    jobs: Vec<Job>,
    control: &Control<'_>,
) -> Vec<Job> {
    let mut ready = Vec::with_capacity(jobs.len());
    for mut job in jobs {
        let settings = &job.request.settings;
        let read = |session: &mut Session, sentences: &[String]| {
            let read = || translator.remember_only(session, sentences, &[], settings, control);
            match catch_unwind(AssertUnwindSafe(read)) {
                Ok(read) => read.map_err(|error| Failure::Refused(error.to_string())),
                Err(_) => Err(Failure::Panicked),
            }
        };
        let is_last = job.share.to == job.request.sentences.len();
        let rest = (|| {
            read(&mut job.session, &job.before)?;
            job.before = Vec::new();
            if is_last || is_sequential(translator) {
                return Ok(None);
            }
            let mut after = job.session.clone();
            read(&mut after, &job.request.sentences[job.share.from..job.share.to])?;
            Ok(Some(after))
        })();
        match rest {
            Ok(Some(session)) => {
                let request = Arc::clone(&job.request);
                shared.put_back(Job::new(request, session, Vec::new(), job.share.to));
            }
            Ok(None) => {}
            Err(failure) => {
                report(shared, job, Err(failure));
                continue;
            }
        }
        ready.push(job);
    }
    ready
}

/// Continues a document whose rest had to wait for the translations.
fn go_on(shared: &Shared, translator: &Translator, job: &Job, outcome: &Outcome) {
    let is_last = job.share.to == job.request.sentences.len();
    if is_sequential(translator) && !is_last && outcome.is_ok() && !job.is_cancelled() {
        let request = Arc::clone(&job.request);
        shared.put_back(Job::new(request, job.session.clone(), Vec::new(), job.share.to));
    }
}

/// Acts on all shares together. If that fails, acts on each alone, so that a failure affects only
/// the request that caused it.
fn isolated<S>(shares: &mut [S], act: impl Fn(&mut [S]) -> Vec<Outcome>) -> Vec<Outcome> {
    let guarded = |shares: &mut [S]| {
        let count = shares.len();
        let acted = catch_unwind(AssertUnwindSafe(|| act(shares)));
        acted.unwrap_or_else(|_| (0..count).map(|_| Err(Failure::Panicked)).collect())
    };
    let outcomes = guarded(shares);
    if shares.len() < 2 || outcomes.iter().all(Result::is_ok) {
        return outcomes;
    }
    shares.chunks_mut(1).flat_map(guarded).collect()
}

fn translate(translator: &Translator, jobs: &mut [Job], control: &Control<'_>) -> Vec<Outcome> {
    let Some(first) = jobs.first() else { return Vec::new() };
    let settings = first.request.settings.clone();
    let requests: Vec<_> = jobs.iter().map(|job| Arc::clone(&job.request)).collect();
    let stops: Vec<&AtomicBool> = requests.iter().map(|request| &request.is_cancelled).collect();
    // Sessions are advanced on copies: a share that is retried must start from the same state.
    let mut sessions: Vec<Session> = jobs.iter().map(|job| job.session.clone()).collect();
    let mut turns: Vec<Turn<'_>> = jobs
        .iter()
        .zip(&mut sessions)
        .map(|(job, session)| {
            let own = &job.request.sentences[job.share.from..job.share.to];
            Turn { session, sentences: own.iter().map(String::as_str).collect() }
        })
        .collect();
    let control = Control { stops: &stops, ..*control };
    match translator.translate_turns(&mut turns, &settings, &control) {
        Ok(translations) => {
            drop(turns);
            for (job, session) in jobs.iter_mut().zip(sessions) {
                job.session = session;
            }
            let own = |translations: Vec<Translation>| {
                translations.into_iter().map(|t| Translated::new(translator, t)).collect()
            };
            translations.into_iter().map(|translations| Ok(own(translations))).collect()
        }
        Err(error) => {
            let failure = Failure::Refused(error.to_string());
            jobs.iter().map(|_| Err(failure.clone())).collect()
        }
    }
}

impl Translated {
    /// Keeps only what is returned: the weights of all layers are far larger.
    fn new(translator: &Translator, translation: Translation) -> Self {
        let view = AttentionView::new(translator, &translation);
        let score = translation.score();
        Self {
            score: if score.is_finite() { score } else { f64::MIN },
            is_cut: translation.is_cut(),
            attention: view.and_then(|view| serde_json::to_string(&view).ok()),
            text: translation.into_text(),
        }
    }
}

fn report(shared: &Shared, job: Job, outcome: Outcome) {
    let Job { request, session, share, .. } = job;
    if let Ok(translations) = &outcome {
        shared.sentences.fetch_add(translations.len(), Ordering::Relaxed);
    }
    let is_last = share.to == request.sentences.len();
    let session = (is_last && outcome.is_ok()).then_some(session);
    // The receiver may be gone.
    let _ = request.reports.send(Report { from: share.from, outcome, session });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_fails_only_one_request() {
        let mut shares = [1, 2, 3, 4];
        let outcomes = isolated(&mut shares, |shares| {
            assert!(!shares.contains(&3), "three is broken");
            shares.iter().map(|_| Ok(Vec::new())).collect()
        });
        let is_ok: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(is_ok, [true, true, false, true]);
        assert!(matches!(outcomes[2], Err(Failure::Panicked)));
    }

    #[test]
    fn an_error_fails_only_one_request() {
        let mut shares = [1, 2];
        let outcomes = isolated(&mut shares, |shares| {
            let refused = || Err(Failure::Refused("two is wrong".into()));
            if shares.contains(&2) {
                return shares.iter().map(|_| refused()).collect();
            }
            shares.iter().map(|_| Ok(Vec::new())).collect()
        });
        assert!(outcomes[0].is_ok());
        assert!(matches!(&outcomes[1], Err(Failure::Refused(why)) if why == "two is wrong"));
    }
}
