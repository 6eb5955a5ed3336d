/**
 * Replies on the page: the served modules run here, with a few lines in place of the DOM.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { lexMarkdown } from '../../../src/lib/markdown-lexer.ts'
import { createModelAnswers } from '../../kit/rendering/model-answers.ts'
import { findLostText, lettersOf, readLetters } from '../../kit/rendering/read-plain-text.ts'
import { FakeNode, fakeDocument } from './fake-document.ts'
import { startGateway } from './support.ts'

const answers = createModelAnswers()

interface PageMarkdown {
  parseMarkdown(source: string): { readonly type: string; readonly raw: string }[]
  renderBlock(token: { readonly type: string }): FakeNode | null
}

describe('Markdown on the page', () => {
  let folder: string
  let page: PageMarkdown

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'page-'))
    const { request } = await startGateway()
    await saveModule('markdown.js', async (name) => {
      const response = await request(`/assets/${name}`)
      assert.equal(response.status, 200, name)
      assert.match(response.headers.get('content-type') ?? '', /^text\/javascript/)
      return await response.text()
    })
    Reflect.set(globalThis, 'document', fakeDocument)
    page = await import(pathToFileURL(join(folder, 'markdown.js')).href)
  })

  after(async () => {
    Reflect.deleteProperty(globalThis, 'document')
    await rm(folder, { recursive: true })
  })

  async function saveModule(name: string, load: (name: string) => Promise<string>, saved = new Set<string>()) {
    if (saved.has(name)) return
    saved.add(name)
    const text = await load(name)
    await writeFile(join(folder, name), text)
    for (const [, imported = ''] of text.matchAll(/\bfrom '\.\/([^']+)'/g)) await saveModule(imported, load, saved)
  }

  const show = (text: string): FakeNode =>
    new FakeNode('#root', ...page.parseMarkdown(text).flatMap((token) => page.renderBlock(token) ?? []))

  test('is read as on the other platforms, and loses no text', () => {
    const problems: string[] = []
    for (const { name, text } of answers) {
      const tokens = page.parseMarkdown(text)
      assert.deepEqual(tokens, lexMarkdown(text), name)
      // A growing text is parsed again from the end of a block.
      assert.equal(tokens.map(({ raw }) => raw).join(''), text, name)
      const lost = findLostText(readLetters(text), lettersOf(show(text).textContent))
      if (lost !== undefined) problems.push(`${name}: ${lost}`)
    }
    assert.deepEqual(problems, [])
  })

  for (const formula of [
    '\\(a_1 * b_2 * c_3\\)',
    '$e^{i\\pi} * a_i$',
    '\\[\nf(x)\n= x^2\n- 1\n# \\\\\n\\]',
    '$$a < b$$',
  ]) {
    test(`the formula ${JSON.stringify(formula)} is shown unchanged`, () => {
      const indented = formula.replaceAll('\n', '\n  ')
      for (const text of [formula, `Text *a*:\n${formula}\nmore *b*`, `- item\n\n  ${indented}`]) {
        const shown = show(text).textContent
        assert.ok(shown.includes(formula), shown)
      }
    })
  }

  test('emphasis ends next to scripts without spaces, and references are decoded once', () => {
    const shown = show('**注意：**这是 &copy; &amp;lt; [a &amp; b](https://example.org "c &amp; d")')
    assert.deepEqual(shown.textsOf('strong'), ['注意：'])
    assert.equal(shown.textContent, '注意：这是 © &lt; a & b')
  })
})
