/**
 * Creates questions on a real store. The outbox and the inbox are lists that a test can read.
 */
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Question } from '../../src/approvals/question.ts'
import { createQuestions, type QuestionsDeps } from '../../src/approvals/questions.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import type { SessionSource } from '../../src/message/source.ts'
import type { Reply } from '../../src/outbox/outbox.ts'
import type { Transaction } from '../../src/store/query.ts'
import type { TransactionPart } from '../../src/store/transaction-part.ts'
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

export function openQuestions(t: TestContext, change: Partial<QuestionsDeps> = {}) {
  const { store, path } = openStore(t)
  const clock = createManualClock()
  /** Replies whose transaction was committed. */
  const sent: Reply[] = []
  const enqueued: EnqueuedEvent[] = []
  const woken: string[] = []
  const failpoints: string[] = []
  /** Message ids of the platform by reply key. A test sets them for sent replies. */
  const platformIds = new Map<string, string>()
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
  }
  const deps: QuestionsDeps = {
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
    showsButtons: () => true,
    commandPrefix: () => '/',
    // biome-ignore lint/correctness/useYield: nothing is stored
    *enqueueEvent(event, sessionKey, name) {
      enqueued.push({ event, sessionKey, key: name })
    },
    // biome-ignore lint/correctness/useYield: nothing is read
    *sentMessageId(replyKey) {
      return platformIds.get(replyKey)
    },
    wake: (sessionKey) => void woken.push(sessionKey),
    emit: () => undefined,
    emitsEvents: () => true,
    // biome-ignore lint/correctness/useYield: nothing is read
    *turnIsOpen() {
      return true
    },
    failpoint: (point) => void failpoints.push(point),
    ...change,
  }
  const questions = createQuestions(deps)

  const finish = (part: TransactionPart<string>): Promise<string> => store.commit(part, clock.now)

  return {
    store,
    path,
    clock,
    questions,
    sent,
    enqueued,
    woken,
    failpoints,
    platformIds,
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

function readStates(path: string) {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db.prepare('select id, state, answer, answered_by from questions order by id').all()
  } finally {
    db.close()
  }
}
