import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listToolCalls, viewToolCall } from '../../../src/flows/chat/tool-results.ts'
import { createTurnJournal } from '../../../src/flows/turn/journal.ts'
import { acceptEvent } from '../../../src/inbox/queries.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { MessageEvent } from '../../../src/message/event.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import { noUsage } from '../../../src/message/transcript.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { openStore } from '../../kit/open-store.ts'
import { tempHome } from '../../kit/temp-home.ts'

const key = brand<SessionKey>('agent:main:web:dm:c')
const chat = { platform: 'web', account: 'default', chatId: 'c' }
const secret = 'SECRET-0123456789'
const withhold = (text: string) => text.replaceAll(secret, '[withheld]')
const call = (id: string, args = '{}') => ({ id, name: 'terminal', arguments: args })

/** A turn of the chat that has called tools: one done, one failed, one that was interrupted. */
async function turnWithTools(t: TestContext) {
  const { store } = openStore(t)
  const source = { platform: 'web', account: 'default', chatId: 'c', chatType: 'dm', userId: 'owner' } as const
  const event: MessageEvent = { source, text: 'hello', messageType: 'text', timestamp: 1 }
  const row = { sessionKey: key, lane: 'turn', kind: 'text', ...chat } as const
  await store.run(() => acceptEvent({ ...row, payload: JSON.stringify(event) }, ['1'], 1))
  let now = 1_000
  const journal = createTurnJournal({
    store,
    clock: () => now++,
    withhold,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: () => '',
    onProgress: () => undefined,
  })
  const claim = await journal.claim(key)
  assert.ok(claim?.kind === 'model')
  const writes = journal.journalOf(claim.turn)
  const calls = [call('a', `{"command":"echo ${secret}"}`), call('b'), call('open')]
  await writes.recordAssistantMessage({ role: 'assistant', content: '', toolCalls: calls }, noUsage, true)
  for (const one of calls) await writes.recordToolStart(one, 'effect')
  const output = JSON.stringify({ output: `${'x'.repeat(70_000)} ${secret}`, exit_code: 0 })
  await writes.recordToolResult(call('a'), output, 'done', undefined, undefined, {
    ok: true,
    label: `echo ${secret}`,
    summary: `${'y'.repeat(195)} ${secret}`,
  })
  await writes.recordToolResult(call('b'), '{"error":"no"}', 'done', undefined, undefined, {
    ok: false,
    label: '',
    summary: 'no',
  })
  return { gateway: { store, home: createHomeLayout(tempHome(t)) }, turnId: claim.turn.id, writes }
}

test('the calls of a turn are listed in their order, each with its line and its times, without secrets', async (t) => {
  const { gateway, turnId, writes } = await turnWithTools(t)
  await writes.recordToolResult(call('open'), '{"error":"unknown"}', 'interrupted')
  const calls = await listToolCalls(gateway.store, chat, ['other', turnId, turnId])
  assert.deepEqual(
    calls.map(({ callId, state, label, summary }) => ({ callId, state, label, summary })),
    [
      { callId: 'a', state: 'done', label: 'echo [withheld]', summary: `${'y'.repeat(195)} [wi…` },
      { callId: 'b', state: 'failed', label: '', summary: 'no' },
      { callId: 'open', state: 'interrupted', label: '', summary: '' },
    ],
  )
  assert.ok(calls.every(({ startedAt, endedAt }) => startedAt >= 1_000 && endedAt > startedAt))
})

test('a running call is not listed, and its view shows what it was given', async (t) => {
  const { gateway, turnId } = await turnWithTools(t)
  const calls = await listToolCalls(gateway.store, chat, [turnId])
  assert.deepEqual(
    calls.map(({ callId }) => callId),
    ['a', 'b'],
  )
  assert.deepEqual(await viewToolCall(gateway, withhold, chat, { turnId, callId: 'open' }, false), {
    parts: [],
    isCut: false,
  })
})

test('a view has the stored result, also a very long one, and no secret', async (t) => {
  const { gateway, turnId } = await turnWithTools(t)
  const short = await viewToolCall(gateway, withhold, chat, { turnId, callId: 'a' }, false)
  assert.equal(short?.isCut, true)
  const whole = await viewToolCall(gateway, withhold, chat, { turnId, callId: 'a' }, true)
  const [part] = whole?.parts ?? []
  assert.ok(part?.kind === 'command')
  assert.equal(part.command, 'echo [withheld]')
  assert.equal(part.output, `${'x'.repeat(70_000)} [withheld]`)
})

test('people of another chat learn nothing of a call, whatever they name', async (t) => {
  const { gateway, turnId } = await turnWithTools(t)
  for (const other of [{ chatId: 'd' }, { account: 'second' }, { platform: 'telegram' }]) {
    const foreign = { ...chat, ...other }
    assert.deepEqual(await listToolCalls(gateway.store, foreign, [turnId]), [])
    assert.equal(await viewToolCall(gateway, withhold, foreign, { turnId, callId: 'a' }, true), undefined)
  }
  assert.equal(await viewToolCall(gateway, withhold, chat, { turnId, callId: 'a.1' }, true), undefined)
  assert.equal(await viewToolCall(gateway, withhold, chat, { turnId: 'other', callId: 'a' }, true), undefined)
})

test('a result that was too long for the model is whole on request, and no other file is read', async (t) => {
  const { gateway, turnId, writes } = await turnWithTools(t)
  const folder = join(gateway.home.results, turnId)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'open.txt'), `begin ${secret} end`)
  writeFileSync(join(gateway.home.results, 'private.txt'), 'private')
  symlinkSync(join(gateway.home.results, 'private.txt'), join(folder, 'link.txt'))
  const outputOf = async (callId: string, whole: boolean) => {
    const view = await viewToolCall(gateway, withhold, chat, { turnId, callId }, whole)
    const [part] = view?.parts ?? []
    return { output: part?.kind === 'command' ? part.output : undefined, isCut: view?.isCut }
  }
  const shortened = (path: string) => JSON.stringify({ output: 'beg … end', exit_code: 0, full_result: path })
  await writes.recordToolResult(call('open'), shortened(join(folder, 'open.txt')), 'done')
  assert.deepEqual(await outputOf('open', false), { output: 'beg … end', isCut: true })
  assert.deepEqual(await outputOf('open', true), { output: 'begin [withheld] end', isCut: false })
  for (const path of [
    '/etc/passwd',
    join(folder, 'link.txt'),
    join(folder, 'gone.txt'),
    join(folder, '..', 'private.txt'),
  ]) {
    const other = call(`named ${path}`)
    await writes.recordAssistantMessage({ role: 'assistant', content: '', toolCalls: [other] }, noUsage, true)
    await writes.recordToolStart(other, 'effect')
    await writes.recordToolResult(other, shortened(path), 'done')
    assert.deepEqual(await outputOf(other.id, true), { output: 'beg … end', isCut: true }, path)
  }
})
