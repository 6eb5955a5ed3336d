import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTurnJournal } from '../../src/flows/turn/journal.ts'
import { assessCrash, closeAllAttempts } from '../../src/inbox/attempts.ts'
import { acceptEvent } from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { createTurnWaits } from '../../src/sessions/running-turns.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { openStore } from '../kit/open-store.ts'

const key = brand<SessionKey>('agent:main:chat:dm:c')
const { signal } = new AbortController()

/** A turn in progress, and how many attempts a crash would interrupt. */
async function turnInProgress(t: TestContext) {
  const { store } = openStore(t)
  const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
  const event: MessageEvent = { source, text: 'hello', messageType: 'text', timestamp: 1 }
  const row = { sessionKey: key, lane: 'turn', kind: 'text', platform: 'chat', account: 'bot', chatId: 'c' } as const
  await store.run(() => acceptEvent({ ...row, payload: JSON.stringify(event) }, ['1'], 1))
  const { waitInTurn: wait, isPaused } = createTurnWaits(store, { waitOutside: (_key, work) => work() })
  const deps = {
    store,
    isPaused,
    clock: () => 1,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: () => '',
    onProgress: () => undefined,
  }
  const journal = createTurnJournal(deps)
  const claim = await journal.claim(key)
  assert.ok(claim?.kind === 'model')
  return {
    store,
    writes: journal.journalOf(claim.turn),
    wait,
    crash: () => store.run(() => assessCrash(() => true, 1)),
  }
}

const call = (id: string) => ({ id, name: 'tool', arguments: '{}' })

test('a crash during a wait counts nothing, and one after the wait counts', async (t) => {
  const { wait, crash } = await turnInProgress(t)
  await wait(key, async () => assert.equal(await crash(), 0), signal)
  assert.equal(await crash(), 1)
})

test('a crash counts after a wait that was rejected or aborted', async (t) => {
  const { wait, crash } = await turnInProgress(t)
  const aborted = AbortSignal.abort(new Error('not needed'))
  await assert.rejects(
    wait(key, () => Promise.reject(aborted.reason), aborted),
    aborted.reason,
  )
  assert.equal(await crash(), 1)
})

test('a crash counts while the turn waits and one of its tools is running', async (t) => {
  const { writes, wait, crash } = await turnInProgress(t)
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  await writes.recordAssistantMessage(
    { role: 'assistant', content: '', toolCalls: [call('a'), call('b')] },
    usage,
    false,
  )
  await wait(
    key,
    async () => {
      await writes.recordToolStart(call('a'), 'pure')
      assert.equal(await crash(), 1)
    },
    signal,
  )
  await writes.recordToolResult(call('a'), 'done', 'done')
  await wait(key, async () => assert.equal(await crash(), 0), signal)
})

test('the attempt stays paused until the last of several waits ends', async (t) => {
  const { wait, crash } = await turnInProgress(t)
  await wait(
    key,
    async () => {
      await wait(key, async () => undefined, signal)
      assert.equal(await crash(), 0)
    },
    signal,
  )
  assert.equal(await crash(), 1)
})

test('a crash counts after several waits, whichever of them paused the attempt', async (t) => {
  const { writes, wait, crash } = await turnInProgress(t)
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  await writes.recordAssistantMessage({ role: 'assistant', content: '', toolCalls: [call('a')] }, usage, false)
  await writes.recordToolStart(call('a'), 'pure')
  await wait(
    key,
    async () => {
      // The read ends, so the second wait pauses the attempt, and ends first.
      await writes.recordToolResult(call('a'), 'done', 'done')
      await wait(key, async () => undefined, signal)
      assert.equal(await crash(), 0)
    },
    signal,
  )
  assert.equal(await crash(), 1)
})

test('a tool that starts, or a wait that ends, while the gateway stops does not open the attempt again', async (t) => {
  const { store, writes, wait, crash } = await turnInProgress(t)
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  await writes.recordAssistantMessage({ role: 'assistant', content: '', toolCalls: [call('a')] }, usage, false)
  await wait(key, () => store.run(closeAllAttempts), signal)
  await writes.recordToolStart(call('a'), 'pure')
  assert.equal(await crash(), 0)
})
