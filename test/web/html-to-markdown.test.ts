import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlToMarkdown } from '../../src/web/html-to-markdown.ts'

const address = 'https://example.com/a/b'
const paragraph = `<p>${'Some words that a person reads. '.repeat(10)}</p>`

function page(body: string): string {
  return `<!doctype html><html><head><title>The title</title><style>p{}</style></head><body>${body}</body></html>`
}

const mainOf = (body: string) => htmlToMarkdown(page(`<main><h1>A</h1>${paragraph}${body}</main>`), address).content

test('the main part of a page is read, without menus, scripts and the foot', () => {
  const main = `<main><h1>Hello</h1>${paragraph}<script>alert(1)</script></main>`
  const { title, content } = htmlToMarkdown(
    page(`<nav><a href="/x">Menu</a></nav>${main}<footer>Foot</footer>`),
    address,
  )
  assert.equal(title, 'The title')
  assert.match(content, /^# Hello/)
  assert.doesNotMatch(content, /Menu|alert|Foot/)
})

test('links, code, lists and tables survive', () => {
  const content = mainOf(
    `<p><a href="/docs">docs</a></p><pre><code class="language-js">let a = 1</code></pre><ul><li>one</li></ul>
    <table><tr><th>k</th></tr><tr><td>v</td></tr></table>`,
  )
  assert.ok(content.includes('[docs](https://example.com/docs)'), content)
  assert.ok(content.includes('```js\nlet a = 1\n```'), content)
  assert.match(content, /- one/)
  assert.match(content, /\| k \|/)
})

test('a page without a main part is read as a whole', () => {
  assert.match(htmlToMarkdown(page('<div>Only this</div>'), address).content, /Only this/)
  assert.match(htmlToMarkdown(page(`<main></main><div>${paragraph}</div>`), address).content, /Some words/)
})

test('a picture that a page contains as text is left out', () => {
  assert.doesNotMatch(mainOf(`<img alt="x" src="data:image/png;base64,${'A'.repeat(10_000)}">`), /AAAA/)
})

test('malformed and hostile pages end without an error', () => {
  const hostile = [
    ...['', '<', '<div>'.repeat(50_000), `<a ${'x="y" '.repeat(50_000)}>t</a>`, '<'.repeat(200_000)],
    ...['<!--'.repeat(50_000), `<table>${'<tr><td>x'.repeat(20_000)}`, '&#x0;&#xFFFFFFFF;&nosuch;'.repeat(1_000)],
    ...['\u0000'.repeat(10_000), `<p>![${'['.repeat(500)}`, `<p>${'!['.repeat(500)}](data:`],
  ]
  for (const html of hostile) assert.equal(typeof htmlToMarkdown(html, address).content, 'string')
})
