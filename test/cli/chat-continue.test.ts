import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { assertFailed, homeWith, quietConfig, runInProcess } from './support.ts'

async function chatHome(t: TestContext) {
  const model = await startOpenAiServer({ defaultReply: ({ lastUserText: text }) => ({ text: `re ${text}` }) })
  t.after(() => model.stop())
  const home = homeWith(t, `${quietConfig}provider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\n`)
  return {
    home,
    chat: (...words: readonly string[]) => runInProcess(home.root, ['chat', ...words]),
    /** What people have said in the last request. */
    said: () => JSON.stringify(model.requests.at(-1)?.body['messages']),
  }
}

async function ask({ chat }: Awaited<ReturnType<typeof chatHome>>, ...words: readonly string[]) {
  const { code, stdout, stderr } = await chat('--json', ...words)
  assert.equal(code, 0, stderr)
  const result: { readonly chat: string; readonly session_id: string } = JSON.parse(stdout)
  return result
}

test('chat --continue goes on with the last conversation of a person, and not with a prompt of a batch', async (t) => {
  const terminal = await chatHome(t)
  assertFailed(await terminal.chat('-c', '-q', 'hello'), 'cli/not-found')
  await ask(terminal, '-q', 'older')
  const last = await ask(terminal, '-q', 'newer')
  const prompts = join(terminal.home.root, 'p.jsonl')
  writeFileSync(prompts, '"of a batch"\n')
  const batch = ['batch', 'run', prompts, '-o', join(terminal.home.root, 'out.jsonl')]
  assert.equal((await runInProcess(terminal.home.root, batch)).code, 0)
  const { chat, session_id } = await ask(terminal, '-c', '-q', 'and now')
  assert.deepEqual([chat, session_id], [last.chat, last.session_id])
  assert.match(terminal.said(), /newer.*re newer.*and now/)
})

test('chat --resume finds a conversation by its name, title or id, also one that has ended', async (t) => {
  const terminal = await chatHome(t)
  const first = await ask(terminal, '--session', 'mine', '-q', 'one')
  await terminal.chat('--session', 'mine', '-q', '/title Road trip')
  await ask(terminal, '-q', 'between')
  for (const name of ['mine', 'road TRIP', first.session_id])
    assert.equal((await ask(terminal, '-r', name, '-q', `by ${name}`)).session_id, first.session_id)
  assert.equal((await ask(terminal, '-c', 'Road trip', '-q', 'again')).chat, 'mine')
  await terminal.chat('--session', 'mine', '-q', '/new')
  await ask(terminal, '--session', 'mine', '-q', 'something else')
  const resumed = await ask(terminal, '-r', first.session_id, '-q', 'still there?')
  assert.equal(resumed.session_id, first.session_id)
  assert.notEqual(resumed.chat, 'mine')
  assert.match(terminal.said(), /one.*re one.*still there/)
})

test('a conversation that does not exist, or two at once, are refused', async (t) => {
  const terminal = await chatHome(t)
  assertFailed(await terminal.chat('-r', '../../x y', '-q', 'hello'), 'cli/not-found')
  assertFailed(await terminal.chat('-c', '--session', 'mine', '-q', 'hello'), 'cli/usage')
})
