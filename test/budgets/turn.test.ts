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
}

const budgets = {
  // Accept, claim, end and receipt. The file call looks whether keys were stored meanwhile.
  'a later turn': { writes: 4, reads: 0, statements: 25, fileCalls: 1, timers: 5 },
  // The prompt is read and stored, too: skills, context files and memory.
  'the first turn of a conversation': { writes: 5, reads: 0, statements: 28, fileCalls: 9, timers: 5 },
  // The response with the call, the start of the tool and its result are stored, too.
  'a turn with a tool call': { writes: 7, reads: 0, statements: 34, fileCalls: 1, timers: 9 },
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
  return gateway
}

/** Resolves when the reply is shown and its receipt is stored. */
async function turn(gateway: TestGateway, text: string, chat: string): Promise<Work> {
  const work = countWork()
  try {
    await gateway.say(text, { chat })
    await gateway.waitForReply(`re ${text}`, chat)
    const open = `/* test */ select 1 from outbox where state != 'sent' union all select 1 from inbox where state != 'done'`
    while (rowsIn(gateway.home, open).length > 0) await setTimeout(5)
  } finally {
    work.stop()
  }
  return work.stop()
}

function assertWithin({ writes, reads, fileCalls, timers }: Work, budget: Budget): void {
  const statements = [...writes, ...reads].flat()
  const counted = { writes, reads, statements, fileCalls, timers }
  const over = Object.entries(budget).flatMap(([name, limit]) => {
    const list: readonly unknown[] = counted[name as keyof Budget]
    return list.length > limit ? [{ name, limit, counted: list.length, list }] : []
  })
  assert.deepEqual(over, [])
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
