/**
 * Reading a page of the web: its HTML as Markdown, without the network.
 */
import { htmlToMarkdown } from '../../../src/web/html-to-markdown.ts'
import type { Figure } from '../figure.ts'
import { median } from '../kit/stats.ts'

const pageBytes = 200_000

export const web: Figure = {
  name: 'web',
  about: 'a page of 200 kB as Markdown',
  measure: async () => {
    const html = longPage()
    // A thread converts one page, but the compile cache has its code.
    htmlToMarkdown(html.slice(0, 20_000), 'https://example.com/')
    const times = Array.from({ length: 15 }, () => cpuMs(() => htmlToMarkdown(html, 'https://example.com/')))
    const scans = Array.from({ length: 15 }, () => cpuMs(() => html.replace(/<[^>]*>/g, ' ')))
    return [
      {
        name: 'web_extract of 200 kB',
        measured: median(times),
        unit: 'ms',
        bar: 80,
        baseline: { what: 'tags removed by one expression', value: median(scans) },
        note: `processor time; the first one ${(times[0] ?? Number.NaN).toFixed(0)} ms`,
      },
    ]
  },
}

function cpuMs(work: () => unknown): number {
  const begun = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

/** An article with the parts that articles have. */
function longPage(): string {
  const part = (index: number) => `<h2>Part ${index}</h2>
    <p>Some <b>bold</b> text with a <a href="/page/${index}">link</a> and more words, so that it is a paragraph to read.</p>
    <ul><li>one</li><li>two</li></ul><pre><code class="language-js">const a = ${index}</code></pre>
    <table><tr><th>key</th><th>value</th></tr><tr><td>${index}</td><td>2</td></tr></table>`
  let body = ''
  for (let index = 0; body.length < pageBytes; index++) body += part(index)
  return `<!doctype html><html><head><title>Article</title></head><body><nav><a href="/">Home</a></nav><main><h1>Article</h1>${body}</main></body></html>`
}
