/**
 * What the parts of the room share: its dependencies, and what must follow once a transaction is on disk.
 */
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { HookEventListener, HookEvents } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { Outbox, PreparedReply, Reply } from '../outbox/outbox.ts'
import type { Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalSubject } from './question.ts'

export interface QuestionsDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly clock: () => number
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
  /** Unique for ever, at most 40 letters, digits and `-`. */
  readonly newId: (now: number) => string
  /** False while the daemon starts or stops: a press is not taken then. */
  isOpen(): boolean
  /** Whether this person may talk to the agent here. */
  access(source: SessionSource): { readonly allowed: boolean; readonly reason: string }
  /** Several people talk in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Whether messages to this place can carry buttons, as far as is known right now. */
  showsButtons(target: Target): boolean
  /** What stands before a command that is typed on this platform. */
  commandPrefix(platform: string): string
  /** Stores an event of the gateway's own in the control lane of a session; a known `key` changes nothing. */
  enqueueEvent(event: MessageEvent, sessionKey: SessionKey, key: string, now: number): Transaction<void>
  /** The platform's id of the message under which the buttons of this reply stand; undefined until it is sent. */
  sentMessageId(replyKey: string): Transaction<string | undefined>
  /** There is work in the control lane of this session. Told after it is on disk. */
  wake(sessionKey: SessionKey): void
  readonly emit: HookEventListener
  /** Whether what happens there is a gateway event. */
  emitsEvents(source: SessionSource): boolean
  /** What plugins are told, once it is on disk; undefined where there are none. */
  readonly plugins?: ApprovalListener
  /** Whether a turn has not ended: what it asks for is void afterwards. */
  turnIsOpen(turnId: string): Transaction<boolean>
  /** Told of each question that has ended, once it is on disk. */
  readonly onResolved?: (id: string) => void
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

/** They watch: nothing here can hold up or change an answer. */
export interface ApprovalListener {
  approvalRequested(asked: ApprovalInfo): void
  approvalResolved(asked: ApprovalInfo, choice: ApprovalChoice, decidedBy: string): void
}

export interface ApprovalInfo {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly about: ApprovalSubject
}

export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'

type ApprovalEvent = {
  [Name in 'approval:requested' | 'approval:resolved']: [name: Name, context: HookEvents[Name]]
}['approval:requested' | 'approval:resolved']

/** What one transaction leaves to be done, or to be taken back. */
export interface AfterCommit {
  /** Sends a reply with the transaction. */
  send(reply: Reply, now: number): Transaction<void>
  wake(sessionKey: SessionKey): void
  /** A question got its answer. */
  answered(): void
  /** A question ended, however it did. */
  readonly resolved: (id: string) => void
  /** A gateway event of this source. */
  readonly emit: (source: SessionSource, ...event: ApprovalEvent) => void
  /** Something for plugins, once the transaction is on disk. */
  notifyPlugins(told: (plugins: ApprovalListener) => void): void
  /** The transaction begins, maybe once more: what an earlier try left is void. */
  begin(): void
  committed(): void
  abandoned(): void
}

export function createAfterCommit(deps: QuestionsDeps): AfterCommit {
  let replies: PreparedReply[] = []
  let sessionsToWake = new Set<SessionKey>()
  let answered = false
  let resolvedIds: string[] = []
  let events: ApprovalEvent[] = []
  let notifications: ((plugins: ApprovalListener) => void)[] = []

  function abandoned(): void {
    for (const reply of replies) reply.rolledBack()
    replies = []
    sessionsToWake = new Set()
    answered = false
    resolvedIds = []
    events = []
    notifications = []
  }

  return {
    *send(reply, now) {
      const prepared = deps.outbox.prepare(reply)
      replies.push(prepared)
      yield* prepared.write(now)
    },
    wake: (sessionKey) => void sessionsToWake.add(sessionKey),
    answered() {
      answered = true
    },
    resolved: (id) => void resolvedIds.push(id),
    emit(source, ...event) {
      if (deps.emitsEvents(source)) events.push(event)
    },
    notifyPlugins: (told) => void notifications.push(told),
    begin: abandoned,
    committed() {
      if (answered) deps.failpoint('question:answered')
      for (const reply of replies) reply.committed()
      for (const [name, context] of events) deps.emit(name, context)
      for (const told of notifications) if (deps.plugins !== undefined) told(deps.plugins)
      for (const id of resolvedIds) deps.onResolved?.(id)
      for (const sessionKey of sessionsToWake) deps.wake(sessionKey)
    },
    abandoned,
  }
}
