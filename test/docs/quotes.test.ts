/**
 * Checks quotations on pages: the output of the demonstration, the number of kill points, and messages of platforms.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { chooseDemoReply, type DemoReply } from '../../src/agent/models/demo/demo-script.ts'
import { killPoints } from '../crash/scenario.ts'
import { type Page, readPage } from './pages.ts'
import { filesOf, textOf } from './repository.ts'

const overview = 'docs/explanation/overview.md'

describe('the overview quotes', () => {
  let page: Page
  before(async () => {
    page = await readPage(overview, textOf(overview))
  })

  test('the output of the demonstration', () => {
    const session = page.blocks.find(({ text }) => text.includes('› Which files are here?'))
    assert.ok(session)
    const [asked = '', exact = ''] = session.text.split('› ').slice(1)
    const [question = '', ...quoted] = asked.trim().split('\n')

    const user = { role: 'user', content: question }
    const call = reply([user])
    assert.ok(call.kind === 'call')
    const result = { role: 'tool', content: JSON.stringify({ output: 'notes.md\nplan.txt\n' }) }
    const said = `${call.text}\n· ${call.name} ${call.arguments['command']}\n${reply([user, { role: 'assistant' }, result]).text}`
    for (const line of quoted.filter((text) => text !== '[…]')) {
      assert.ok(said.split('\n').includes(line), `"${line}" is not among:\n${said}`)
    }

    const [command = '', answer] = exact.trim().split('\n')
    assert.equal(reply([user, { role: 'assistant' }, { role: 'user', content: command }]).text, answer)
  })

  test('the number of points at which the process is killed', () => {
    assert.match(page.text, new RegExp(`at any of ${killPoints.length} points`))
  })
})

function reply(messages: readonly object[]): DemoReply {
  return chooseDemoReply({ model: 'demo', stream: true, messages, tools: [{ function: { name: 'terminal' } }] })
}

test('the troubleshooting tables quote messages that the gateway can print', () => {
  const sources = ['platforms', 'src']
    .flatMap((folder) => filesOf(folder))
    .filter((path) => path.endsWith('.ts'))
    .map(textOf)
  for (const page of ['discord', 'slack', 'telegram'].map((name) => `docs/how-to/connect-${name}.md`)) {
    const table = textOf(page).split('## Troubleshooting')[1] ?? ''
    const quotes = [...table.matchAll(/^\| (?<cell>[^|]*) \|/gm)]
      .slice(1)
      .flatMap(({ groups = {} }) => [...(groups['cell'] ?? '').matchAll(/`([^`]* [^`]*)`/g)])
      .map(([, quote = '']) => quote)
    assert.ok(quotes.length >= 6, page)
    for (const part of quotes.flatMap((quote) => quote.split(/…|\b\d[\d.]*/))) {
      assert.ok(
        sources.some((text) => text.includes(part.trim())),
        `${page}: no source contains "${part}"`,
      )
    }
  }
})
