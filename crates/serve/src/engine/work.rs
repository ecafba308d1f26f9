//! What an engine's thread does: take a batch, put the rest back, translate, report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use abridge_translate::{Control, Session, Translation, Translator, Turn};

use super::{BATCH, Failure, Job, Report, Shared};

/// Sentences of one order that are translated now.
struct Share {
    job: Job,
    to: usize,
}

type Outcome = Result<Vec<Translation>, Failure>;

/// Works until the queue is closed.
pub(super) fn run(shared: &Shared, translators: &[Translator]) {
    while let Some(jobs) = take(shared) {
        let Some(first) = jobs.first() else { continue };
        let translator = &translators[first.request.model];
        let mut shares = prepare(shared, translator, jobs);
        let outcomes = isolated(&mut shares, |shares| translate(translator, shares));
        for (share, outcome) in shares.into_iter().zip(outcomes) {
            report(shared, share, outcome);
        }
    }
}

/// Waits for work, and takes jobs that can be decoded together: the same model and settings.
fn take(shared: &Shared) -> Option<Vec<Job>> {
    let mut queue = shared.lock();
    loop {
        queue.jobs.retain(|job| !is_cancelled(job));
        if !queue.jobs.is_empty() {
            break;
        }
        if queue.is_closed {
            return None;
        }
        queue.idle += 1;
        queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
    }
    // Threads that have nothing to do get their part.
    let most = shared.together.min(queue.jobs.len().div_ceil(queue.idle + 1));
    let mut jobs: Vec<Job> = Vec::new();
    let mut filled = 0;
    while filled < BATCH && jobs.len() < most {
        let next = queue.jobs.pop(|job| jobs.first().is_none_or(|first| fits(first, job)));
        let Some(job) = next else { break };
        filled += (job.request.sentences.len() - job.from).min(job.request.share);
        jobs.push(job);
    }
    Some(jobs)
}

fn is_cancelled(job: &Job) -> bool {
    job.request.is_cancelled.load(Ordering::Relaxed)
}

fn fits(a: &Job, b: &Job) -> bool {
    let (a, b) = (&a.request, &b.request);
    a.model == b.model && a.attention == b.attention && a.settings == b.settings
}

/// Cuts each job's share, and puts the rest back with what it must remember.
fn prepare(shared: &Shared, translator: &Translator, jobs: Vec<Job>) -> Vec<Share> {
    let mut shares = Vec::with_capacity(jobs.len());
    for mut job in jobs {
        let settings = &job.request.settings;
        // Where the memory holds translations, nothing can go on before they are there.
        let waits = translator.model().config().target_context;
        let share = if waits { usize::MAX } else { job.request.share };
        let to = job.request.sentences.len().min(job.from.saturating_add(share));
        let read = |session: &mut Session, sentences: &[String]| {
            let read = || translator.remember_only(session, sentences, &[], settings);
            match catch_unwind(AssertUnwindSafe(read)) {
                Ok(read) => read.map_err(|error| Failure::Refused(error.to_string())),
                Err(_) => Err(Failure::Panicked),
            }
        };
        let rest = (|| {
            read(&mut job.session, &job.before)?;
            let mut after = job.session.clone();
            if to < job.request.sentences.len() {
                read(&mut after, &job.request.sentences[job.from..to])?;
            }
            Ok(after)
        })();
        match rest {
            Ok(session) if to < job.request.sentences.len() => {
                let request = std::sync::Arc::clone(&job.request);
                let client = request.client.clone();
                let rest = Job { request, session, before: Vec::new(), from: to };
                shared.lock().jobs.push_front(&client, rest);
                shared.wake.notify_one();
            }
            Ok(_) => {}
            Err(failure) => {
                report(shared, Share { job, to }, Err(failure));
                continue;
            }
        }
        shares.push(Share { job, to });
    }
    shares
}

/// Acts on everything together. Where that fails, acts on each alone, so that a failure costs the
/// request that it belongs to and no other.
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

fn translate(translator: &Translator, shares: &mut [Share]) -> Vec<Outcome> {
    let Some(first) = shares.first() else { return Vec::new() };
    let (settings, attention) = (first.job.request.settings.clone(), first.job.request.attention);
    let requests: Vec<_> = shares.iter().map(|share| share.job.request.clone()).collect();
    let stops: Vec<&AtomicBool> = requests.iter().map(|request| &request.is_cancelled).collect();
    // Sessions are advanced on copies: a share that is translated again must begin where it began.
    let mut sessions: Vec<Session> = shares.iter().map(|share| share.job.session.clone()).collect();
    let mut turns: Vec<Turn<'_>> = shares
        .iter()
        .zip(&mut sessions)
        .map(|(Share { job, to }, session)| Turn {
            session,
            sentences: job.request.sentences[job.from..*to].iter().map(String::as_str).collect(),
        })
        .collect();
    let control = Control { stops: &stops, attention, batch: BATCH, ..Control::default() };
    match translator.translate_turns(&mut turns, &settings, &control) {
        Ok(translations) => {
            drop(turns);
            for (share, session) in shares.iter_mut().zip(sessions) {
                share.job.session = session;
            }
            translations.into_iter().map(Ok).collect()
        }
        Err(error) => {
            let failure = Failure::Refused(error.to_string());
            shares.iter().map(|_| Err(failure.clone())).collect()
        }
    }
}

fn report(shared: &Shared, share: Share, outcome: Outcome) {
    let Share { job: Job { request, session, from, .. }, to } = share;
    if let Ok(translations) = &outcome {
        shared.sentences.fetch_add(translations.len(), Ordering::Relaxed);
    }
    let is_last = to == request.sentences.len();
    let session = (is_last && outcome.is_ok()).then_some(session);
    // Nobody may be listening any more.
    let _ = request.reports.send(Report { from, outcome, session });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_costs_one_request() {
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
    fn a_refusal_costs_one_request() {
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
