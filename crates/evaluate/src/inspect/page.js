for (const part of document.querySelectorAll("[data-attention]")) {
  const words = part.querySelectorAll("[data-word]");
  const show = (weights) => {
    words.forEach((word, i) => {
      word.style.setProperty("--weight", weights[i] || 0);
      word.toggleAttribute("data-shade", weights.length > 0);
    });
  };
  for (const token of part.querySelectorAll("[data-weights]")) {
    const weights = token.dataset.weights.split(" ").map(Number);
    token.addEventListener("mouseenter", () => show(weights));
    token.addEventListener("focus", () => show(weights));
    token.addEventListener("mouseleave", () => show([]));
    token.addEventListener("blur", () => show([]));
  }
}
