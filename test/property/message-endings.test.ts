/**
 * Whatever people write while the agent works, and wherever the gateway crashes: every accepted message ends in exactly one
 * of answered, failed with a notice, intentionally silent, or absorbed into a turn that ends in one of these.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { auditInbox } from '../../src/inbox/audit.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import type { UserMessage } from '../kit/fake-platform.ts'
import { openStore } from '../kit/open-store.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { hasResult, rowsIn } from '../stories/support.ts'

const chats = ['c0', 'c1'] as const
/** In the chat `c1` two people share a conversation. */
const people = ['ada', 'bob'] as const

type Step =
  | { readonly kind: 'say'; readonly words: string; readonly prefix: string }
  | { readonly kind: 'burst'; readonly words: string }
  | { readonly kind: 'crash' | 'steer' }
  | { readonly kind: 'edit' | 'delete'; readonly back: number }
  | { readonly kind: 'command'; readonly text: string }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('say' as const),
      // What the model does: it answers, uses a tool first, does not answer, fails, or has nothing to say.
      words: fc.constantFrom('plain', 'tool', 'hang', 'fail', 'silent'),
      prefix: fc.constantFrom('', '', '', '/queue ', '/steer '),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('burst' as const), words: fc.constantFrom('plain', 'hang') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('steer' as const) }) },
  {
    weight: 4,
    // The message is the last one, or one of those before.
    arbitrary: fc.record({ kind: fc.constantFrom('edit' as const, 'delete' as const), back: fc.nat({ max: 4 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('command' as const),
      text: fc.constantFrom(
        ...['/stop', '/new', '/undo', '/retry', '/branch', '/resume 1'],
        ...['/busy queue', '/busy steer', '/busy collect', '/busy interrupt'],
      ),
    }),
  },
)

interface TakenStep {
  readonly step: Step
  readonly chat: string
  readonly person: string
}

const steps = fc.array(fc.record({ step, chat: fc.constantFrom(...chats), person: fc.constantFrom(...people) }), {
  minLength: 25,
  maxLength: 35,
})

function modelReply(request: RecordedRequest, isCalm: boolean): ModelReply {
  const { lastUserText } = request
  const words = /(plain|tool|hang|fail|silent)-\d+(?!.*-\d)/s.exec(lastUserText)?.[1] ?? 'plain'
  // Long enough that a message can arrive before the tool runs.
  if (words === 'tool' && !hasResult(request)) return { toolCalls: [{ name: 'todo', arguments: {} }], delayMs: 10 }
  if (isCalm) return { text: 'calm' }
  if (words === 'hang') return { hang: 'headers' }
  if (words === 'fail') return { error: { status: 400, body: { error: { message: 'no' } } } }
  return { text: words === 'silent' ? '[SILENT]' : `answer to ${lastUserText}` }
}

/** The process ends at once: nothing that it would write after this moment reaches the disk. */
async function crash(gateway: TestGateway, { databaseFile }: HomeLayout): Promise<void> {
  const files = [databaseFile, `${databaseFile}-wal`].flatMap((path) =>
    existsSync(path) ? [{ path, bytes: readFileSync(path) }] : [],
  )
  await gateway.stop(AbortSignal.abort())
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${databaseFile}${suffix}`, { force: true })
  for (const { path, bytes } of files) writeFileSync(path, bytes, { mode: 0o600 })
  await (await gateway.start()).initialConnectsDone()
}

/** A refused message has ended when its sender was told. */
async function untilAllEnded(gateway: TestGateway): Promise<void> {
  const isOpen = "state in ('queued', 'claimed') or busy_mode = 'refused'"
  const open = () => rowsIn(gateway.home, `select seq from inbox where ${isOpen}`).length
  while (open() > 0) await gateway.nextLine()
}

/** Writes what the steps say into the chats. */
function createPeople(gateway: TestGateway) {
  const said: (UserMessage & { readonly id: string })[] = []

  async function say(text: string, chat: string, person: string): Promise<void> {
    const message = { chat, user: person, id: `m${said.length + 1}` }
    const sent = chat === 'c1' ? { ...message, chatType: 'group' as const } : { ...message, user: 'ada' }
    said.push(sent)
    await gateway.say(text, sent)
  }

  async function change({ kind, back }: Extract<Step, { readonly back: number }>): Promise<void> {
    const earlier = said.at(-1 - back)
    if (earlier === undefined) return
    if (kind === 'delete') await gateway.platform.remove(earlier.id, earlier)
    else await gateway.platform.edit(earlier.id, `plain-${said.length}9`, earlier)
  }

  async function take({ step: one, chat, person }: TakenStep): Promise<void> {
    const sent = said.length
    switch (one.kind) {
      case 'say':
        return await say(`${one.prefix}${one.words}-${sent}`, chat, person)
      case 'burst':
        await Promise.all(Array.from({ length: 7 }, (_, index) => say(`${one.words}-${sent}${index}`, chat, person)))
        return
      case 'steer':
        await say(`tool-${sent}`, chat, person)
        return await say(`/steer plain-${sent}`, chat, person)
      case 'command':
        return await say(one.text, chat, person)
      case 'crash':
        return await crash(gateway, gateway.home)
      case 'edit':
      case 'delete':
        return await change(one)
    }
  }

  return { say, take }
}

const changes = ['edited', 'deleted'] as const

test('every accepted message ends in exactly one of four ways', async (t) => {
  const changed = new Set<string>()
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      let isCalm = false
      const gateway = await startTestGateway(t, {
        model: (request) => modelReply(request, isCalm),
        config: {
          display: { busy_input_mode: 'interrupt', busy_ack_enabled: true, busy_queue_limit: 4 },
          group_sessions_per_user: false,
          approvals: { destructive_slash_confirm: false },
        },
      })
      const { say, take } = createPeople(gateway)
      for (const one of taken) await take(one)
      for (const kind of changes) if (gateway.log.some((line) => line.includes(`"inbox.${kind}"`))) changed.add(kind)
      isCalm = true
      // Both are guests, who stop their own turns only.
      for (const person of people) for (const chat of chats) await say('/stop', chat, person)
      // A turn that was waiting for its model is asked again.
      await crash(gateway, gateway.home)
      await untilAllEnded(gateway)
      await gateway.stop()
      const audit = await openStore(t, gateway.home.databaseFile).store.run(() => auditInbox(0, 10_000))
      assert.deepEqual(
        audit.filter(({ finally: final }) => final === 'unaccounted' || final === 'open'),
        [],
      )
      assert.deepEqual(
        audit.map(({ seq }) => seq),
        rowsIn(gateway.home, 'select seq from inbox order by seq').map(({ seq }) => seq),
      )
    }),
    { numRuns: Number(process.env['HERMES_PROPERTY_RUNS'] ?? 3), endOnFailure: true },
  )
  assert.deepEqual([...changed].sort(), [...changes].sort())
})
