import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashToolCall } from '../../../src/agent/loop/tool-batch.ts'
import type { Claim } from '../../../src/flows/turn/claim.ts'
import { createTurnJournal, type TurnCompletion, type TurnJournalDeps } from '../../../src/flows/turn/journal.ts'
import { lowerRole } from '../../../src/inbox/access.ts'
import { assessCrash, listSuspectSessions, recordFailedAttempt } from '../../../src/inbox/attempts.ts'
import { acceptEvent, findEventState, findQueueHead, finishEvent } from '../../../src/inbox/queries.ts'
import { setBusyMode } from '../../../src/inbox/waiting-messages.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { Authority } from '../../../src/message/authority.ts'
import type { MessageEvent } from '../../../src/message/event.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import type { AssistantMessage, ToolCall, Usage } from '../../../src/message/transcript.ts'
import { sessionById } from '../../../src/sessions/session-queries.ts'
import { findSessionState, startNewSession } from '../../../src/sessions/session-state.ts'
import { freezePrompt, readTranscript } from '../../../src/sessions/transcript.ts'
import type { Turn } from '../../../src/sessions/turn.ts'
import { requestTurnStop, sessionsWithOpenTurns } from '../../../src/sessions/turns.ts'
import { query, row } from '../../../src/store/query.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { createManualClock } from '../../kit/manual-clock.ts'
import { openStore } from '../../kit/open-store.ts'
import { toJsonValue } from '../../kit/to-json-value.ts'

const key = brand<SessionKey>('agent:main:chat:dm:c')
const cost: Usage = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0 }

function ending(more: Partial<TurnCompletion> = {}): TurnCompletion {
  return {
    state: 'done',
    reason: null,
    model: 'm',
    provider: 'p',
    text: 'yes',
    ord: 0,
    usage: cost,
    ...more,
  }
}

function asks(...toolCalls: ToolCall[]): AssistantMessage {
  return { role: 'assistant', content: '', toolCalls }
}

const notAnswered = {
  status: 'stopped',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
} as const

const call = (id: string): ToolCall => ({ id, name: 'tool', arguments: `{"of":"${id}"}` })

function journalFor(t: TestContext, rules: Partial<TurnJournalDeps> = {}) {
  const { store } = openStore(t)
  const clock = createManualClock()
  const progressed: SessionKey[] = []
  const journal = createTurnJournal({
    store,
    clock: clock.now,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: (event) => `route ${event.text}`,
    ...rules,
    onProgress: (session) => void progressed.push(session),
  })
  let events = 0
  const accept = async (text: string, more: Partial<MessageEvent> = {}) => {
    const source = { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm', userId: 'u' } as const
    const event: MessageEvent = { source, text, messageType: 'text', timestamp: 1, ...more }
    const row = {
      sessionKey: key,
      lane: 'turn',
      kind: 'text',
      platform: 'chat',
      account: 'bot',
      chatId: 'c',
    } as const
    return (await store.run(() => acceptEvent({ ...row, payload: JSON.stringify(event) }, [`${events++}`], 1))).seq
  }
  const claimRun = async (): Promise<Turn> => {
    const claim = await journal.claim(key)
    assert.equal(claim?.kind, 'model')
    return claim.turn
  }
  const transcript = async (turn: Turn) =>
    (await store.run(() => readTranscript(turn.sessionId))).map(({ message }) => message)
  return { store, clock, journal, accept, claimRun, transcript, progressed }
}

function kindOf(claim: Claim | null): string | undefined {
  return claim?.kind
}

const toolCall = query((db, p: { turn_id: string; call_id: string }) =>
  db
    .selectFrom('tool_calls')
    .select(['state', 'mode', 'args_hash', 'late_result'])
    .where('turn_id', '=', p.turn_id)
    .where('call_id', '=', p.call_id),
)
const turnRow = query((db, p: { id: string }) => db.selectFrom('turns').selectAll().where('id', '=', p.id))

test('a message whose sender loses the access before it is claimed becomes no turn', async (t) => {
  const ended: number[] = []
  const { accept, claimRun, store } = journalFor(t, {
    isRevoked: ({ text }) => text.startsWith('former'),
    async endRevoked(_session, seq) {
      ended.push(seq)
      await store.run(() => finishEvent(seq, notAnswered))
    },
  })
  const first = await accept('former one')
  const second = await accept('former two')
  await accept('three')
  assert.equal((await claimRun()).event.text, 'three')
  assert.deepEqual(ended, [first, second])
})

test('a message that quotes another one is not merged into the text of earlier ones', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const authority = { ...ownerAuthority, userId: 'u' }
  const quotes = { authority, replyTo: { messageId: '9', text: 'invoice-7' } }
  await accept('delete everything', { authority })
  for (const [text, more] of [
    ['and then', { authority }],
    ['keep this', quotes],
  ] as const) {
    const seq = await accept(text, more)
    await store.run(() => setBusyMode(seq, 'collect', true))
  }
  const first = await claimRun()
  assert.equal(first.event.text, 'delete everything\nand then')
  await journal.finish(first, ending())
  assert.equal((await claimRun()).transcript.at(-1)?.message.content, '[In reply to: "invoice-7"]\nkeep this')
})

test('messages of a session become turns in order of arrival, in the same conversation', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  await accept('two')
  const first = await claimRun()
  assert.equal(first.event.text, 'one')
  assert.equal(first.firstOfSession, true)
  assert.deepEqual(
    first.transcript.map(({ message }) => message),
    [{ role: 'user', content: 'one' }],
  )
  await journal.finish(first, ending({ message: { role: 'assistant', content: 'yes' }, ord: 1 }))
  const second = await claimRun()
  assert.equal(second.sessionId, first.sessionId)
  assert.equal(second.firstOfSession, false)
  assert.deepEqual(
    second.transcript.map(({ message }) => message.content),
    ['one', 'yes', 'two'],
  )
  await journal.finish(second, ending())
  assert.equal(await journal.claim(key), null)
})

test('a turn stores its origin, its user and the target of its reply', async (t) => {
  const { accept, claimRun, store } = journalFor(t)
  await accept('one')
  const turn = await claimRun()
  const stored = await store.run(() => row(turnRow, { id: turn.id }))
  assert.deepEqual(
    [stored?.state, stored?.authority, stored?.route, stored?.epoch],
    ['running', 'u', 'route one', turn.fence.epoch],
  )
  assert.equal(JSON.parse(stored?.origin ?? '').chatId, 'c')
  assert.match(turn.sessionId, /^\d{8}_\d{6}_[0-9a-f]{8}$/)
})

test('later turns use the frozen system prompt and tool list of the session', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  await accept('one')
  const first = await claimRun()
  assert.equal(first.systemPrompt, undefined)
  await store.run(() => freezePrompt(first.sessionId, { text: 'be kind', toolNames: ['todo'] }))
  await journal.finish(first, ending())
  await accept('two')
  const second = await claimRun()
  assert.equal(second.systemPrompt, 'be kind')
  assert.deepEqual(second.toolNames, ['todo'])
})

test('the end of a turn is stored atomically: response, message, usage and reply', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  const seq = await accept('one')
  const turn = await claimRun()
  let received = 0
  const { result: outcome } = await journal.finish(
    turn,
    ending({
      message: { role: 'assistant', content: 'yes' },
      ord: 1,
    }),
    {
      *write(now) {
        received = now
        yield* freezePrompt('reply', { text: 'written with the turn' })
      },
    },
  )
  assert.deepEqual(toJsonValue(outcome), {
    status: 'done',
    text: 'yes',
    sessionId: turn.sessionId,
    model: 'm',
    usage: { inputTokens: 100, outputTokens: 7 },
  })
  assert.ok(received > 0)
  const state = await store.run(() => findEventState(seq))
  assert.equal(state?.state, 'done')
  assert.deepEqual(JSON.parse(state?.outcome ?? ''), toJsonValue(outcome))
  assert.equal((await transcript(turn)).length, 2)
  const session = await store.run(() => row(sessionById, { id: turn.sessionId }))
  assert.deepEqual([session?.input_tokens, session?.output_tokens], [100, 7])
  assert.deepEqual(await store.run(sessionsWithOpenTurns), [])
})

test('when the reply cannot be stored, nothing of the end is stored and the turn stays open', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  const seq = await accept('one')
  const turn = await claimRun()
  await assert.rejects(
    journal.finish(
      turn,
      ending({
        message: { role: 'assistant', content: 'yes' },
        ord: 1,
      }),
      {
        // biome-ignore lint/correctness/useYield: fails before it writes
        *write() {
          throw new Error('no room')
        },
      },
    ),
    /no room/,
  )
  assert.equal((await store.run(() => findEventState(seq)))?.state, 'claimed')
  assert.equal((await transcript(turn)).length, 1)
  assert.deepEqual(await store.run(sessionsWithOpenTurns), [key])
  await journal.finish(turn, ending({ message: { role: 'assistant', content: 'yes' }, ord: 1 }))
  assert.equal((await store.run(() => findEventState(seq)))?.state, 'done')
})

test('an interrupted turn is resumed before newer messages', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  await accept('two')
  const first = await claimRun()
  const again = await claimRun()
  assert.equal(again.id, first.id)
  assert.ok(again.fence.epoch > first.fence.epoch)
  assert.equal(again.transcript.length, 1, 'the message is not written a second time')
  await journal.finish(again, ending())
  assert.equal((await claimRun()).event.text, 'two')
})

test('a turn keeps its stored authority when it is resumed, lowered to what the configuration gives now', async (t) => {
  const member: Authority = { role: 'member', platform: 'chat', chatType: 'dm', userId: 'u' }
  let ceiling: Authority['role'] = 'owner'
  const { accept, claimRun, journal } = journalFor(t, {
    lowerAuthority: (stored) => ({ ...stored, role: lowerRole(stored.role, ceiling) }),
  })
  await accept('one', { authority: member })
  assert.deepEqual((await claimRun()).authority, member)
  ceiling = 'guest'
  const resumed = await claimRun()
  assert.deepEqual(resumed.authority, { ...member, role: 'guest' })
  await journal.finish(resumed, ending())
  // Stored by a version without roles.
  await accept('two')
  assert.equal((await claimRun()).authority, ownerAuthority)
})

test('the prompt of a new session is stored with the first response', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  const first = await claimRun()
  const writes = journal.journalOf(first)
  writes.freezePrompt({ text: 'be kind', toolNames: ['todo'] })
  assert.equal((await claimRun()).systemPrompt, undefined)
  const second = await claimRun()
  const others = journal.journalOf(second)
  others.freezePrompt({ text: 'be brief', toolNames: [] })
  await others.recordAssistantMessage(asks(call('a')), cost, false)
  // A superseded attempt changes nothing, and what is frozen stays.
  await assert.rejects(writes.storePrompt(), (error) => isHermesError(error, 'store/fenced'))
  const { systemPrompt, toolNames } = await claimRun()
  assert.deepEqual([systemPrompt, toolNames], ['be brief', []])
})

test('an attempt that fails before its first response leaves the prompt of the session', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  const writes = journal.journalOf(await claimRun())
  await writes.storePrompt()
  writes.freezePrompt({ text: 'be kind', toolNames: ['todo'] })
  await writes.storePrompt()
  const { systemPrompt, toolNames } = await claimRun()
  assert.deepEqual([systemPrompt, toolNames], ['be kind', ['todo']])
})

test('an interrupted turn knows the tokens and the calls of its stored responses', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  const first = await claimRun()
  assert.equal(first.usedTokens, 0)
  await journal.journalOf(first).recordAssistantMessage(asks(call('a')), cost, false)
  const resumed = await claimRun()
  assert.equal(resumed.usedTokens, cost.inputTokens + cost.outputTokens)
  assert.deepEqual(resumed.storedResponses, { count: 1, callIds: ['a'] })
  await journal.finish(resumed, ending())
  await accept('two')
  assert.equal((await claimRun()).usedTokens, 0, 'a new turn begins at zero')
})

test('a message that failed three times becomes a dead letter with its reason, and the next one is handled', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const seq = await accept('poison')
  await accept('fine')
  for (let attempt = 1; attempt <= 3; attempt++) {
    await claimRun()
    await store.run(() => recordFailedAttempt(seq, `failure ${attempt}`, true))
  }
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'attempts-exhausted')
  assert.equal(claim.reason, 'failure 3')
  await journal.finish(claim.turn, ending({ state: 'failed', reason: claim.reason, deadLetter: true }))
  assert.equal((await store.run(() => findEventState(seq)))?.state, 'dead')
  assert.equal((await claimRun()).event.text, 'fine')
})

test('the dead letter is stored even if the gateway crashes again while it is being reported', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const seq = await accept('poison')
  await claimRun()
  for (let attempt = 0; attempt < 3; attempt++) await store.run(() => recordFailedAttempt(seq, 'failed', true))
  assert.equal(kindOf(await journal.claim(key)), 'attempts-exhausted')
  assert.equal(kindOf(await journal.claim(key)), 'attempts-exhausted')
})

test('a turn that alone was interrupted by two crashes waits five minutes, unless a user stops it', async (t) => {
  const { accept, claimRun, clock, journal, store } = journalFor(t)
  await accept('one')
  for (let crash = 0; crash < 2; crash++) {
    await claimRun()
    await store.run(() => assessCrash(() => true, clock.now()))
  }
  const claim = await journal.claim(key)
  assert.ok(claim?.kind === 'postponed')
  assert.deepEqual([claim.until, claim.isAnnounced, claim.event.text], [clock.now() + 300_000, false, 'one'])
  await store.run(() => requestTurnStop(key))
  assert.equal(kindOf(await journal.claim(key)), 'stopped')
})

test('progress resets the failed attempts of a turn', async (t) => {
  const { accept, claimRun, journal, store, progressed } = journalFor(t)
  const seq = await accept('one')
  await claimRun()
  await store.run(() => recordFailedAttempt(seq, 'failed', true))
  const again = await claimRun()
  assert.equal(again.hasFailedAttempts, true)
  const writes = journal.journalOf(again)
  await writes.recordAssistantMessage(asks(call('a')), cost, true)
  await writes.recordToolResult(call('a'), 'result', 'done')
  assert.deepEqual(progressed, [key])
  assert.equal((await claimRun()).hasFailedAttempts, false)
})

test('tool results follow their response in the order of the calls, whichever completes first', async (t) => {
  const { accept, claimRun, journal, transcript } = journalFor(t)
  await accept('one')
  const turn = await claimRun()
  const writes = journal.journalOf(turn)
  await writes.recordAssistantMessage(asks(call('a'), call('b'), call('c')), cost, true)
  for (const id of ['a', 'b', 'c']) assert.equal(await writes.recordToolStart(call(id), 'effect'), 'run')
  for (const id of ['c', 'a', 'b']) await writes.recordToolResult(call(id), `result ${id}`, 'done')
  assert.equal(writes.nextOrd(), 5)
  await writes.recordAssistantMessage(asks(call('d')), cost, true)
  await writes.recordToolResult(call('d'), 'result d', 'done')
  await journal.finish(turn, ending({ message: { role: 'assistant', content: 'yes' }, ord: writes.nextOrd() }))
  assert.deepEqual(
    (await transcript(turn)).map((message) => (message.role === 'tool' ? message.toolCallId : message.role)),
    ['user', 'assistant', 'a', 'b', 'c', 'assistant', 'd', 'assistant'],
  )
})

test('after a crash during several tools the open calls keep their ordinals', async (t) => {
  const { accept, claimRun, journal, transcript } = journalFor(t)
  await accept('one')
  const before = await claimRun()
  const first = journal.journalOf(before)
  await first.recordAssistantMessage(asks(call('a'), call('b'), call('c')), cost, true)
  await first.recordToolStart(call('c'), 'pure')
  await first.recordToolResult(call('c'), 'result c', 'done')
  await first.recordToolStart(call('a'), 'pure')

  const after = await claimRun()
  const second = journal.journalOf(after)
  assert.equal(second.nextOrd(), 5)
  assert.equal(await second.recordToolStart(call('a'), 'pure'), 'run')
  await second.recordToolResult(call('a'), 'result a', 'done')
  await second.recordToolStart(call('b'), 'pure')
  await second.recordToolResult(call('b'), 'result b', 'done')
  assert.deepEqual(
    (await transcript(after)).flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
    ['result a', 'result b', 'result c'],
  )
})

test('a tool with an effect that started before a crash is not started again; one without an effect is', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  await accept('one')
  const before = await claimRun()
  const first = journal.journalOf(before)
  await first.recordAssistantMessage(asks(call('a'), call('b'), call('c'), call('d')), cost, true)
  await first.recordToolStart(call('a'), 'effect')
  await first.recordToolStart(call('b'), 'pure')
  await first.recordToolStart(call('c'), 'idempotent')

  const after = await claimRun()
  const second = journal.journalOf(after)
  assert.equal(await second.recordToolStart(call('a'), 'effect'), 'unknown')
  assert.equal(await second.recordToolStart(call('b'), 'pure'), 'run')
  assert.equal(await second.recordToolStart(call('c'), 'idempotent'), 'run')
  assert.equal(await second.recordToolStart(call('d'), 'effect'), 'run')
  await second.recordToolResult(call('a'), 'unknown', 'interrupted')
  const kept = await store.run(() => row(toolCall, { turn_id: after.id, call_id: 'a' }))
  assert.deepEqual([kept?.state, kept?.mode], ['interrupted', 'effect'])
})

test('an earlier start of an effect is known before a user is asked about the call again', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('one')
  const first = journal.journalOf(await claimRun())
  await first.recordAssistantMessage(asks(call('a'), call('b'), call('c')), cost, true)
  await first.recordToolStart(call('a'), 'effect')
  await first.recordToolStart(call('b'), 'pure')
  const second = journal.journalOf(await claimRun())
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((id) => second.wasStarted(call(id)))), [true, false, false])
})

test('a call that becomes one with an effect, because plugins now rewrite it differently, runs once', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  await accept('one')
  const turn = await claimRun()
  const first = journal.journalOf(turn)
  await first.recordAssistantMessage(asks(call('a')), cost, true)
  assert.equal(await first.recordToolStart(call('a'), 'pure'), 'run')
  const rewritten = { ...call('a'), arguments: '{"rewritten":true}' }
  const second = journal.journalOf(await claimRun())
  assert.equal(await second.recordToolStart(rewritten, 'effect'), 'run')
  const kept = await store.run(() => row(toolCall, { turn_id: turn.id, call_id: 'a' }))
  assert.deepEqual([kept?.mode, kept?.args_hash], ['effect', hashToolCall(rewritten)])
  const third = journal.journalOf(await claimRun())
  assert.equal(await third.recordToolStart(call('a'), 'pure'), 'unknown')
})

test('a superseded turn cannot write; the late result of its tool is kept as evidence', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  await accept('one')
  const old = await claimRun()
  const late = journal.journalOf(old)
  await late.recordAssistantMessage(asks(call('a')), cost, true)
  await late.recordToolStart(call('a'), 'effect')
  const current = await claimRun()
  const fenced = (error: unknown) => isHermesError(error, 'store/fenced')
  await assert.rejects(late.recordAssistantMessage(asks(call('b')), cost, true), fenced)
  await assert.rejects(late.recordToolStart(call('b'), 'pure'), fenced)
  await assert.rejects(late.recordToolResult(call('a'), 'it worked', 'done'), fenced)
  await assert.rejects(journal.finish(old, ending()), fenced)
  assert.equal((await transcript(current)).length, 2)
  const kept = await store.run(() => row(toolCall, { turn_id: old.id, call_id: 'a' }))
  assert.deepEqual([kept?.state, kept?.late_result], ['started', 'it worked'])
})

test('after a reset the turn of the old session cannot write, and the new session starts empty', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  await accept('one')
  const old = await claimRun()
  const visit = { key, source: '{}', platform: 'chat', userId: 'u', newSessionId: 'fresh start', now: 2 }
  await store.run(() => startNewSession(visit, ''))
  await assert.rejects(journal.finish(old, ending()), (error) => isHermesError(error, 'store/fenced'))
})

test('a stop that was requested before a crash is still known after it', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  await accept('one')
  await accept('two')
  const turn = await claimRun()
  await journal.journalOf(turn).recordAssistantMessage(asks(call('a')), cost, true)
  assert.equal(await store.run(() => requestTurnStop(key)), turn.id)
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'stopped')
  await journal.finish(claim.turn, ending({ state: 'stopped', reason: 'stopped by a user' }))
  assert.deepEqual(
    (await transcript(claim.turn)).map(({ role }) => role),
    ['user', 'assistant', 'tool'],
    'no call is left without a result, or models would refuse the conversation',
  )
  assert.equal((await claimRun()).event.text, 'two')
})

test('a turn that ends early closes its open calls, and a tool that completes later is kept as evidence', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  await accept('one')
  const turn = await claimRun()
  const writes = journal.journalOf(turn)
  await writes.recordAssistantMessage(asks(call('a'), call('b')), cost, true)
  await writes.recordToolStart(call('a'), 'effect')
  await writes.recordToolResult(call('a'), 'result a', 'done')
  await writes.recordToolStart(call('b'), 'effect')
  const { result: outcome } = await journal.finish(turn, ending({ state: 'stopped', reason: 'x', text: '' }))
  assert.equal(outcome.status, 'stopped')
  const results = (await transcript(turn)).flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  assert.equal(results[0], 'result a')
  assert.match(results[1] ?? '', /^\{"error":"/)
  await assert.rejects(writes.recordToolResult(call('b'), 'it worked', 'done'), (error) =>
    isHermesError(error, 'store/fenced'),
  )
  const kept = await store.run(() => row(toolCall, { turn_id: turn.id, call_id: 'b' }))
  assert.deepEqual([kept?.state, kept?.late_result], ['interrupted', 'it worked'])
})

test('tokens are counted once, whether a turn completes, fails, is stopped or resumes after a crash', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const none: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  await accept('one')
  const before = await claimRun()
  await journal.journalOf(before).recordAssistantMessage(asks(call('a')), cost, true)
  const after = await claimRun()
  const writes = journal.journalOf(after)
  await writes.recordToolResult(call('a'), 'result', 'done')
  await writes.recordAssistantMessage(asks(call('b')), cost, true)
  await writes.recordToolResult(call('b'), 'result', 'done')
  const message: AssistantMessage = { role: 'assistant', content: 'yes' }
  const { result: outcome } = await journal.finish(after, ending({ message, ord: writes.nextOrd() }))
  assert.deepEqual(toJsonValue(outcome.usage), { inputTokens: 300, outputTokens: 21 })

  await accept('two')
  const stopped = await claimRun()
  await journal.journalOf(stopped).recordAssistantMessage(asks(call('c')), cost, true)
  const { usage } = (await journal.finish(stopped, ending({ state: 'stopped', usage: none }))).result
  assert.deepEqual(toJsonValue(usage), {
    inputTokens: 100,
    outputTokens: 7,
  })
  const session = await store.run(() => row(sessionById, { id: after.sessionId }))
  assert.deepEqual([session?.input_tokens, session?.output_tokens], [400, 28])
})

test('the tokens of a dead letter are not counted again with the next message', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const none: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 }
  await accept('poison')
  const poison = await claimRun()
  await journal.journalOf(poison).recordAssistantMessage(asks(call('a')), cost, true)
  await journal.finish(poison, ending({ state: 'failed', reason: 'it breaks', usage: none, deadLetter: true }))

  await accept('/nonsense')
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'unknown-command')
  const { usage } = (await journal.finish(claim.turn, ending({ usage: none }))).result
  assert.deepEqual(toJsonValue(usage), { inputTokens: 0, outputTokens: 0 })
  const session = await store.run(() => row(sessionById, { id: poison.sessionId }))
  assert.deepEqual([session?.input_tokens, session?.output_tokens], [100, 7])
})

test('an unknown command does not reach the model, and the conversation starts with the first real message', async (t) => {
  const { accept, claimRun, journal, transcript } = journalFor(t)
  await accept('/nonsense now')
  await accept('hello')
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'unknown-command')
  assert.equal(claim.command, 'nonsense')
  const resumed = await journal.claim(key)
  assert.equal(resumed?.kind, 'unknown-command', 'also after a crash')
  await journal.finish(resumed.turn, ending({ text: 'Unknown command' }))
  assert.deepEqual(await transcript(resumed.turn), [])
  const first = await claimRun()
  assert.equal(first.sessionId, resumed.turn.sessionId)
  assert.equal(first.firstOfSession, true)
})

test('a path at the start of a message, or a message of a client without commands, is plain text', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  await accept('/etc/hosts is odd')
  await journal.finish(await claimRun(), ending())
  await accept('/new is what I typed', { allowGatewayControl: false })
  assert.equal((await claimRun()).transcript.at(-1)?.message.content, '/new is what I typed')
})

test('the conversation that a stateless client sends becomes the start of a new session, once', async (t) => {
  const { accept, claimRun, journal, transcript } = journalFor(t)
  const seed = {
    messages: [
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'indeed' },
    ],
  } as const
  await accept('now', { seed })
  const first = await claimRun()
  assert.deepEqual(
    first.transcript.map(({ ord, turnId, message }) => [ord, turnId === null, message.content]),
    [
      [0, true, 'earlier'],
      [1, true, 'indeed'],
      [2, false, 'now'],
    ],
  )
  const resumed = await claimRun()
  assert.equal(resumed.transcript.length, 3)
  await journal.finish(resumed, ending({ message: { role: 'assistant', content: 'yes' }, ord: 3 }))
  await accept('again', { seed })
  const second = await claimRun()
  assert.deepEqual(
    second.transcript.map(({ message }) => message.content),
    ['earlier', 'indeed', 'now', 'yes', 'again'],
  )
  assert.equal((await transcript(second)).length, 5)
})

test('in a shared session the model reads the name of the author', async (t) => {
  const { store, accept } = journalFor(t)
  await accept('hello', {
    source: { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'group', userId: 'u', userName: 'Ada' },
  })
  const journal = createTurnJournal({
    store,
    clock: () => 1,
    isShared: () => true,
    authorityOf: () => ownerAuthority,
    routeOf: () => '',
    onProgress: () => undefined,
  })
  const claim = await journal.claim(key)
  assert.equal(claim?.kind, 'model')
  assert.equal(claim.turn.transcript[0]?.message.content, '[Ada] hello')
})

test('a message with attachments is claimed only after they were downloaded or have failed', async (t) => {
  const { accept, claimRun, journal, store, transcript } = journalFor(t)
  const photo = { kind: 'photo', ref: 'f1' } as const
  const page = { kind: 'document', url: 'https://example.org/a.pdf' } as const
  const seq = await accept('look', { attachments: [photo, page] })
  const wanted = await journal.claim(key)
  assert.deepEqual([wanted?.kind, wanted?.kind === 'unprepared' && wanted.seq], ['unprepared', seq])
  assert.equal((await store.run(() => findEventState(seq)))?.state, 'queued')
  assert.equal(kindOf(await journal.claim(key)), 'unprepared')

  await journal.storeAttachments(seq, [{ ...photo, path: '/media/1.jpg' }])
  assert.equal(kindOf(await journal.claim(key)), 'unprepared')
  await journal.storeAttachments(seq, [{ ...page, problem: 'the server answered 404' }])
  const turn = await claimRun()
  assert.deepEqual(
    turn.event.attachments?.map(({ path, problem }) => path ?? problem),
    ['/media/1.jpg', 'the server answered 404'],
  )
  assert.deepEqual(
    (await transcript(turn)).map(({ content }) => content),
    [
      '[Attached photo: /media/1.jpg]\n' +
        '[Attached document: https://example.org/a.pdf (could not be fetched: the server answered 404)]\nlook',
    ],
  )
})

test('attachments that arrive for a message that is claimed already, or has other attachments, change nothing', async (t) => {
  const { accept, claimRun, journal } = journalFor(t)
  const seq = await accept('look', { attachments: [{ kind: 'photo', ref: 'new' }] })
  await journal.storeAttachments(seq, [{ kind: 'photo', ref: 'old', path: '/media/1.jpg' }])
  assert.equal(kindOf(await journal.claim(key)), 'unprepared')
  await journal.storeAttachments(seq, [{ kind: 'photo', ref: 'new', path: '/media/2.jpg' }])
  const turn = await claimRun()
  await journal.storeAttachments(seq, [{ kind: 'photo', ref: 'new', path: '/media/3.jpg' }])
  assert.equal((await claimRun()).event.attachments?.[0]?.path, '/media/2.jpg')
  assert.equal(turn.event.attachments?.[0]?.path, '/media/2.jpg')
})

test('a message whose files end the gateway three times becomes a dead letter', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const seq = await accept('look', { attachments: [{ kind: 'photo', ref: 'poison' }] })
  await accept('fine')
  for (let crash = 0; crash < 3; crash++) {
    assert.equal(kindOf(await journal.claim(key)), 'unprepared')
    assert.equal(await store.run(() => assessCrash(() => true, 1)), 1)
    assert.deepEqual(await store.run(listSuspectSessions), [key])
  }
  const claim = await journal.claim(key)
  assert.ok(claim?.kind === 'attempts-exhausted')
  assert.deepEqual([claim.turn.seq, claim.turn.transcript], [seq, []])
  await journal.finish(claim.turn, ending({ state: 'failed', reason: claim.reason, deadLetter: true }))
  assert.equal((await store.run(() => findEventState(seq)))?.state, 'dead')
  assert.equal((await claimRun()).event.text, 'fine')
})

test('a crash after the files of a waiting message are stored does not count', async (t) => {
  const { accept, claimRun, journal, store } = journalFor(t)
  const seq = await accept('look', { attachments: [{ kind: 'photo', ref: 'f1' }] })
  await journal.claim(key)
  assert.equal(await store.run(() => assessCrash(() => true, 1)), 1)
  await journal.claim(key)
  await journal.storeAttachments(seq, [{ kind: 'photo', ref: 'f1', path: '/media/1.jpg' }])
  assert.equal(await store.run(() => assessCrash(() => true, 1)), 0)
  assert.equal((await claimRun()).hasFailedAttempts, true)
})

test('an unknown command does not wait for its attachments', async (t) => {
  const { accept, journal } = journalFor(t)
  await accept('/dance', { attachments: [{ kind: 'photo', ref: 'f1' }] })
  assert.equal(kindOf(await journal.claim(key)), 'unknown-command')
})

test('a claim that fails midway leaves neither a turn nor a partial conversation', async (t) => {
  const { store, accept, journal, claimRun } = journalFor(t)
  await accept('one')
  const broken = createTurnJournal({
    store,
    clock: () => 1,
    isShared: () => false,
    authorityOf: () => ownerAuthority,
    routeOf: () => {
      throw new Error('cut short')
    },
    onProgress: () => undefined,
  })
  await assert.rejects(broken.claim(key), /cut short/)
  assert.equal(await store.run(() => findSessionState(key)), undefined)
  assert.deepEqual(await store.run(sessionsWithOpenTurns), [])
  assert.equal((await store.run(() => findQueueHead(key, 'turn')))?.tries, 0)
  assert.equal((await claimRun()).event.text, 'one')
  assert.equal(await journal.claim(brand<SessionKey>('another session')), null)
})
