/**
 * The tools of a conversation on the page, without a browser: where their rows stand, and that every text of a result stays text.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ToolEvent, WireToolPart } from '../../../platforms/web/protocol.ts'
import { type FakeNode, fakeDocument } from './fake-document.ts'

interface Items {
  itemOf(entry: object): object
  shownState(tool: ToolEvent, running: boolean): string
  withTool(items: readonly object[], event: ToolEvent, running: boolean): readonly { kind: string; key: string }[]
}

describe('where the tools stand', () => {
  let items: Items
  before(async () => {
    items = await import(String(new URL('../../../platforms/web/page/items.js', import.meta.url)))
  })

  const entry = (id: string, from: 'user' | 'agent', at: number, turnId = 't') =>
    items.itemOf({ id, from, kind: 'message', text: id, at, turnId })
  const tool = (callId: string, startedAt: number, turnId = 't'): ToolEvent => ({
    ...{ type: 'tool', turnId, callId, tool: 'terminal', label: '', state: 'done', summary: '' },
    startedAt,
    endedAt: startedAt + 1,
  })
  /** Each item as its text, or as the calls of its row. */
  const shapeOf = (list: readonly object[]) =>
    list.map((item) => {
      const fields = new Map(Object.entries(item))
      const tools: unknown = fields.get('tools')
      return Array.isArray(tools) ? tools.map(({ callId }) => callId).join('+') : fields.get('text')
    })

  test('calls of the history come between the texts, where they were made', () => {
    const entries = [
      entry('ask', 'user', 1),
      entry('first', 'agent', 10),
      entry('last', 'agent', 20),
      entry('next', 'user', 30, 'u'),
    ]
    const calls = [tool('b', 12), tool('a', 11), tool('c', 5), tool('d', 31, 'u')]
    const shown = calls.reduce<readonly object[]>((list, call) => items.withTool(list, call, false), entries)
    assert.deepEqual(shapeOf(shown), ['ask', 'c', 'first', 'a+b', 'last', 'next', 'd'])
  })

  test('a call that ends keeps its place, also when the history sends it again', () => {
    const started = items.withTool([entry('ask', 'user', 1)], { ...tool('a', 2), state: 'running' }, true)
    const ended = items.withTool(items.withTool(started, tool('b', 3), true), tool('a', 2), false)
    assert.deepEqual(shapeOf(ended), ['ask', 'a+b'])
    assert.equal(ended[1]?.key, started[1]?.key)
  })

  test('a command that ends with an exit code has no sign of success', () => {
    const shown = (summary: string, state: ToolEvent['state'] = 'done') =>
      items.shownState({ ...tool('a', 1), summary, state }, false)
    assert.deepEqual(
      [shown('exit 1, no such file'), shown('exit -1'), shown('exit 0, fine'), shown('exits: 3'), shown('')],
      ['ended', 'ended', 'done', 'done', 'done'],
    )
    assert.deepEqual([shown('exit 1', 'failed'), shown('', 'running')], ['failed', 'interrupted'])
  })

  test('a text that is being written stays below the calls before it', () => {
    const draft = { kind: 'agent', key: 'draft:1', text: 'So far', at: 0, turnId: 't', live: true, files: [] }
    const shown = items.withTool([entry('ask', 'user', 1), draft], tool('a', 2), true)
    assert.deepEqual(shapeOf(shown), ['ask', 'a', 'So far'])
  })
})

describe('what is shown of a call', () => {
  const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>'
  let renderPart: (part: WireToolPart, context: object) => FakeNode

  before(async () => {
    Reflect.set(globalThis, 'document', fakeDocument)
    const modules = await import('node:module')
    modules.registerHooks({
      resolve: (name, context, next) =>
        name === './markdown-lexer.js'
          ? next(String(new URL('../../../src/lib/markdown-lexer.ts', import.meta.url)), context)
          : next(name, context),
    })
    const path = new URL('../../../platforms/web/page/view/tool-parts.js', import.meta.url)
    ;({ renderPart } = await import(String(path)))
  })
  after(() => {
    Reflect.deleteProperty(globalThis, 'document')
  })

  const parts: readonly WireToolPart[] = [
    { kind: 'command', command: hostile, language: 'shell', output: hostile, exitCode: 1, state: hostile },
    { kind: 'lines', path: hostile, first: 3, text: hostile },
    { kind: 'diff', path: hostile, added: 1, removed: 0, text: `+${hostile}` },
    { kind: 'matches', path: hostile, lines: [{ line: 1, text: hostile }], marks: ['img', 'script'] },
    { kind: 'files', files: [hostile] },
    { kind: 'links', links: [{ title: hostile, url: 'javascript:alert(1)', text: hostile }] },
    { kind: 'todos', items: [{ content: hostile, status: 'completed' }] },
    { kind: 'text', title: hostile, text: hostile, markdown: false },
    { kind: 'fields', fields: [{ name: hostile, value: hostile }] },
    { kind: 'error', text: hostile, code: hostile },
  ]

  for (const part of parts)
    test(`${part.kind}: HTML stays text`, () => {
      const node = renderPart(part, {})
      assert.ok(node.textContent.includes(hostile))
      for (const tag of ['script', 'img', 'a']) assert.deepEqual(node.textsOf(tag), [])
    })

  test('the matches of a search are marked, in any case', () => {
    const lines = [{ line: 7, text: 'const Name = name' }]
    const node = renderPart({ kind: 'matches', path: 'a.ts', lines, marks: ['name'] }, {})
    assert.deepEqual(node.textsOf('mark'), ['Name', 'name'])
  })

  test('only addresses of the web are links', () => {
    const links = ['https://example.org/a', 'data:text/html,x', '', '/web/stream'].map((url) => ({
      title: url,
      url,
      text: '',
    }))
    assert.deepEqual(renderPart({ kind: 'links', links }, {}).textsOf('a'), ['https://example.org/a'])
  })
})
