/**
 * What the page uses of KaTeX, whose script is served as it is and leaves its functions in the window.
 */
export interface Katex {
  render(source: string, element: HTMLElement, options: object): void
}

declare global {
  interface Window {
    katex?: Katex
  }
}
