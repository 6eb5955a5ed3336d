/**
 * Budgets of a turn: what it may cost, counted and not timed. A test that fails names what was added. A larger number needs a
 * reason beside it, a smaller one is to be written down.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'
import { rowsIn } from '../stories/support.ts'
import { countWork, type Work } from './work.ts'

interface Budget {
  /** Transactions that write: each of them waits for the disk. */
  readonly writes: number
  /** Transactions that only read. */
  readonly reads: number
  /** In all transactions. */
  readonly statements: number
  /** Calls of the file system, without the log and the check of the database files at each commit. */
  readonly fileCalls: number
  readonly timers: number
  /** The bodies of the requests to the model, together. */
  readonly requestBytes: number
}

const budgets = {
  // Accept, claim, end and receipt. The file call looks whether keys were stored meanwhile.
  'a later turn': { writes: 4, reads: 0, statements: 25, fileCalls: 1, timers: 5, requestBytes: 8_300 },
  // The prompt is stored with the end. The file calls look at the metadata of its files: skills, context files and memory.
  'the first turn of a conversation': {
    writes: 4,
    reads: 0,
    statements: 28,
    fileCalls: 5,
    timers: 5,
    requestBytes: 7_750,
  },
  // The response with the call, the start of the tool and its result are stored, too.
  'a turn with a tool call': { writes: 7, reads: 0, statements: 33, fileCalls: 1, timers: 9, requestBytes: 16_850 },
  // The file calls look at the token and, as for the first message of an owner, at the memory. One asks for the space on the disk.
  'a request without a session': { writes: 4, reads: 0, statements: 29, fileCalls: 10, timers: 4, requestBytes: 7_550 },
  'a request with a session': { writes: 4, reads: 0, statements: 26, fileCalls: 4, timers: 4, requestBytes: 7_700 },
} satisfies Readonly<Record<string, Budget>>

async function startGateway(t: TestContext): Promise<TestGateway> {
  // The root of a project ends the search for context files, which otherwise depends on where temporary files are.
  const project = tempHome(t)
  mkdirSync(join(project, '.git'))
  const gateway = await startTestGateway(t, {
    config: { terminal: { cwd: project } },
    model({ lastUserText, body }) {
      const { messages } = body
      const wasCalled = Array.isArray(messages) && messages.at(-1)?.role === 'tool'
      return lastUserText.startsWith('use a tool') && !wasCalled
        ? { toolCalls: [{ name: 'todo', arguments: {} }] }
        : { text: `re ${lastUserText}` }
    },
  })
  // What the process loads and asks once.
  for (const [index, text] of ['first', 'second', 'use a tool', 'third'].entries())
    await turn(gateway, `${text} ${index}`, 'warm')
  for (const text of ['first', 'second']) {
    await request(gateway, text)
    await request(gateway, text, 'warm')
  }
  return gateway
}

interface TurnWork extends Work {
  /** The parts of the requests to the model, with their bytes. */
  readonly requests: readonly RequestPart[]
}

interface RequestPart {
  readonly part: string
  readonly bytes: number
}

/** Resolves when the reply is shown and its receipt is stored. */
function turn(gateway: TestGateway, text: string, chat: string): Promise<TurnWork> {
  return countTurn(gateway, async () => {
    await gateway.say(text, { chat })
    await gateway.waitForReply(`re ${text}`, chat)
  })
}

/** Resolves when the request is answered and the receipt is stored. */
function request(gateway: TestGateway, text: string, sessionId?: string): Promise<TurnWork> {
  return countTurn(gateway, async () => {
    const headers = sessionId === undefined ? {} : { 'x-hermes-session-id': sessionId }
    const response = await gateway.post(
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: text }] },
      headers,
    )
    assert.match(await response.text(), new RegExp(`re ${text}`))
  })
}

async function countTurn(gateway: TestGateway, takeTurn: () => Promise<void>): Promise<TurnWork> {
  const earlier = gateway.model.requests.length
  const work = countWork()
  try {
    await takeTurn()
    const open = `/* test */ select 1 from outbox where state != 'sent' union all select 1 from inbox where state != 'done'`
    while (rowsIn(gateway.home, open).length > 0) await setTimeout(5)
  } finally {
    work.stop()
  }
  const requests = gateway.model.requests.slice(earlier).flatMap(({ body }) => partsOf(body))
  return { ...work.stop(), requests }
}

function partsOf(body: Readonly<Record<string, unknown>>): RequestPart[] {
  const { messages, tools, ...rest } = body
  const partOf = (part: string, value: unknown) => ({ part, bytes: Buffer.byteLength(textOf(value)) })
  const listed = (name: string, list: unknown) =>
    Array.isArray(list)
      ? list.map((value, index) => partOf(`${name}[${index}] ${textOf(value).slice(0, 60)}`, value))
      : []
  return [...listed('messages', messages), ...listed('tools', tools), partOf('other fields', rest)]
}

/** The names of temporary folders and of the time zone differ between machines. */
function textOf(value: unknown): string {
  return JSON.stringify(value)
    .replace(/Commands run in \S+/, '')
    .replace(/This conversation began on [^)]*\)/, '')
}

function assertWithin({ writes, reads, fileCalls, timers, requests }: TurnWork, budget: Budget): void {
  const counted: Readonly<Record<keyof Budget, { readonly count: number; readonly list: readonly unknown[] }>> = {
    writes: countOf(writes),
    reads: countOf(reads),
    statements: countOf([...writes, ...reads].flat()),
    fileCalls: countOf(fileCalls),
    timers: countOf(timers),
    requestBytes: { count: requests.reduce((sum, { bytes }) => sum + bytes, 0), list: requests },
  }
  const over = Object.entries(budget).flatMap(([name, limit]) => {
    const { count, list } = counted[name as keyof Budget]
    return count > limit ? [{ name, limit, count, list }] : []
  })
  assert.deepEqual(over, [])
}

function countOf(list: readonly unknown[]) {
  return { count: list.length, list }
}

test('a later turn of a conversation stays within its budget', async (t) => {
  const gateway = await startGateway(t)
  assertWithin(await turn(gateway, 'later', 'warm'), budgets['a later turn'])
})

test('the first turn of a conversation stays within its budget', async (t) => {
  const gateway = await startGateway(t)
  assertWithin(await turn(gateway, 'hello', 'another'), budgets['the first turn of a conversation'])
})

test('a turn with a tool call stays within its budget', async (t) => {
  const gateway = await startGateway(t)
  assertWithin(await turn(gateway, 'use a tool again', 'warm'), budgets['a turn with a tool call'])
})

test('a request without a session stays within its budget, which is that of one with a session', async (t) => {
  const gateway = await startGateway(t)
  assertWithin(await request(gateway, 'hello'), budgets['a request without a session'])
  assertWithin(await request(gateway, 'hello', 'warm'), budgets['a request with a session'])
})
