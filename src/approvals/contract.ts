/**
 * What the approvals need of the gateway, and what listeners learn of a question.
 */
import type { Accounts } from '../inbox/accounts.ts'
import type { HookEventListener } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { Runtime } from '../store/runtime.ts'
import type { ApprovalSubject } from './question.ts'

export interface QuestionsDeps extends Pick<Runtime, 'store' | 'clock' | 'log' | 'failpoint'> {
  readonly accounts: QuestionAccounts
  readonly outbox: Pick<Outbox, 'prepare'>
  /** Resolves after `ms` or when the signal aborts, never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Never returns the same id twice; at most 40 letters, digits and `-`. */
  readonly newId: (now: number) => string
  /** False while the daemon starts or stops: presses are rejected then. */
  isOpen(): boolean
  /** Wakes the control queue of this session. Called after the commit. */
  wake(sessionKey: SessionKey): void
  readonly emit: HookEventListener
  /** Whether gateway events of this platform are emitted. */
  emitsEvents(source: SessionSource): boolean
  /** Notified after the commit; undefined without plugins. */
  readonly plugins?: ApprovalListener | undefined
  /** Called for each resolved question, after the commit. */
  readonly onResolved: (id: string) => void
}

/** The accounts say who may answer, and how the chat shows a question. */
interface QuestionAccounts extends Pick<Accounts, 'access' | 'authorityOf' | 'isShared'> {
  /** Undefined while the platform is not connected. */
  adapter(target: Target): { readonly showsButtons?: boolean | undefined } | undefined
  platform(name: string): { readonly commandPrefix: string } | undefined
}

/** Observers: they cannot delay or change an answer. */
export interface ApprovalListener {
  approvalRequested(approval: ApprovalInfo): void
  approvalResolved(approval: ApprovalInfo, choice: ApprovalChoice, decidedBy: string): void
}

export interface ApprovalInfo {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  readonly about: ApprovalSubject
}

export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled'
