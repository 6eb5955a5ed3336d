/**
 * Creates questions on a real store. The outbox is a list that a test can read.
 */
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { QuestionsDeps } from '../../src/approvals/contract.ts'
import type { Question } from '../../src/approvals/question.ts'
import { createQuestions } from '../../src/approvals/questions.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { SessionSource } from '../../src/message/source.ts'
import type { Reply } from '../../src/outbox/outbox.ts'
import type { Transaction, TransactionPart } from '../../src/store/query.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { openStore } from '../kit/open-store.ts'
import { ada, bob } from './people.ts'

export const key = brand<SessionKey>('agent:main:chat:dm:c')

export { ada, bob }
export const command: MessageEvent = { source: ada, text: '/new', messageType: 'command', timestamp: 1 }

export function slashQuestion(change: Partial<Question> = {}): Question {
  return {
    kind: 'slash-confirm',
    sessionKey: key,
    source: ada,
    text: 'Go on?',
    choices: [
      { answer: 'once', label: 'Once', typed: ['approve'], effect: { says: 'Going on.', event: command } },
      {
        answer: 'always',
        label: 'Always',
        typed: ['approve always', 'approve session'],
        effect: { says: 'Going on for ever.', event: command, grants: ['slash:new'] },
      },
      { answer: 'cancel', label: 'Cancel', style: 'danger', typed: ['deny'], effect: { says: 'Cancelled.' } },
    ],
    unanswered: { says: 'Nothing was done.' },
    timeoutMs: 300_000,
    ...change,
  }
}

export interface EnqueuedEvent {
  readonly event: MessageEvent
  readonly sessionKey: string
  readonly key: string
}

/** What the gateway gives. */
type GatewayDeps = Omit<QuestionsDeps, 'onResolved'>

interface Changes extends Partial<GatewayDeps> {
  showsButtons?(): boolean
  readonly commandPrefix?: string
}

export function openQuestions(
  t: TestContext,
  { showsButtons = () => true, commandPrefix = '/', ...changes }: Changes = {},
) {
  const { store, path } = openStore(t)
  const clock = createManualClock()
  /** Replies whose transaction was committed. */
  const sent: Reply[] = []
  const woken: string[] = []
  const failpoints: string[] = []
  const shared = new Set<string>()
  /** Ids of users. */
  const owners = new Set<string>()
  let count = 0
  const accounts: QuestionsDeps['accounts'] = {
    access: () => ({ allowed: true, reason: '' }),
    authorityOf: ({ platform, chatType, userId = '' }) => {
      return { role: owners.has(userId) ? 'owner' : 'member', platform, chatType }
    },
    isShared: ({ chatId }) => shared.has(chatId),
    adapter: () => ({ showsButtons: showsButtons() }),
    platform: () => ({ commandPrefix }),
  }
  const deps: GatewayDeps = {
    store,
    outbox: {
      prepare(reply) {
        return { write: nothing, committed: () => void sent.push(reply) }
      },
    },
    clock: clock.now,
    sleep: async () => undefined,
    log: silentLog,
    newId: () => {
      count += 1
      return `q${count}`
    },
    isOpen: () => true,
    accounts,
    wake: (sessionKey) => void woken.push(sessionKey),
    emit: () => undefined,
    emitsEvents: () => true,
    failpoint: (point) => void failpoints.push(point),
    ...changes,
  }
  const questions = createQuestions(deps)

  const finish = (part: TransactionPart<string>): Promise<string> => store.commit(part, clock.now)

  return {
    store,
    path,
    clock,
    questions,
    sent,
    enqueued: () => readEnqueued(path),
    woken,
    failpoints,
    /** The platform shows the message with the buttons of a reply. */
    show: (replyKey: string, platformId: string) => change(path, insertShown, `${replyKey}:1`, platformId),
    openTurn: (turnId: string, event: MessageEvent) => openTurn(path, turnId, event),
    endTurns: () => change(path, "update turns set state = 'done'"),
    shared,
    owners,
    accounts,
    finish,
    ask: (asked: Partial<Question> = {}) => finish(questions.ask(slashQuestion(asked))),
    press: (buttonId: string, source: SessionSource = ada, messageId = 'm1') =>
      questions.press({ source, buttonId, messageId }),
    typed: (words: string, more: { all?: boolean; reason?: string; by?: SessionSource } = {}) =>
      finish(
        questions.answerTyped(key, { words, all: more.all ?? false, reason: more.reason ?? '', by: more.by ?? ada }),
      ),
    states: () => readStates(path),
  }
}

// biome-ignore lint/correctness/useYield: a use case without a query
function* nothing(): Transaction<void> {
  return undefined
}

const insertShown = `insert into outbox
  (key, platform, account, chat_id, thread_id, kind, op, text, buttons, state, platform_id, due_at, created_at, updated_at)
  values (?, 'chat', 'a', 'c', '', 'notice', 'send', '', '[]', 'sent', ?, 0, 0, 0)`

function openTurn(path: string, turnId: string, event: MessageEvent): void {
  change(
    path,
    `insert into turns (id, session_key, session_id, epoch, state, origin, authority, route, started_at)
     values (?, ?, 's', 1, 'running', '', '{}', '', 0)`,
    turnId,
    key,
  )
  change(
    path,
    `insert into inbox (session_key, lane, kind, platform, account, chat_id, payload, state, available_at, accepted_at)
     values (?, 'turn', 'text', 'chat', 'a', 'c', ?, 'claimed', 0, 0)`,
    key,
    JSON.stringify(event),
  )
  change(path, "insert into turn_inputs (turn_id, seq, how) select ?, max(seq), 'head' from inbox", turnId)
}

/** Writes like another process does. */
function change(path: string, statement: string, ...values: readonly string[]): void {
  const db = new DatabaseSync(path)
  try {
    db.prepare(statement).run(...values)
  } finally {
    db.close()
  }
}

function readEnqueued(path: string): EnqueuedEvent[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const rows = db
      .prepare(
        "select payload, session_key, key from inbox join inbox_keys using (seq) where lane = 'control' order by seq",
      )
      .all()
    return rows.map((row) => ({
      event: JSON.parse(String(row['payload'])),
      sessionKey: String(row['session_key']),
      key: String(row['key']),
    }))
  } finally {
    db.close()
  }
}

function readStates(path: string) {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db.prepare('select id, state, answer, answered_by from questions order by id').all()
  } finally {
    db.close()
  }
}
