/**
 * Connects the approvals with the inbox, the outbox, the accounts and the turns.
 */

import type { ApproveTool } from '../../agent/loop/tool-approval.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { AskUser } from '../../agent/tools/clarify.ts'
import type { AskingCall } from '../../approvals/clarify.ts'
import { createCompletionSignals } from '../../approvals/completion-signals.ts'
import type { ApprovalsConfig } from '../../approvals/config.ts'
import type { ApprovalListener } from '../../approvals/contract.ts'
import { createQuestions, type Questions } from '../../approvals/questions.ts'
import { createSlashConfirm, type SlashConfirm } from '../../approvals/slash-confirm.ts'
import type { Engine } from '../../engine/engine.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { uuid7 } from '../../lib/ids.ts'
import { lazy } from '../../lib/lazy.ts'
import type { Logger } from '../../lib/log.ts'
import type { Redactor } from '../../lib/redact.ts'
import { sleep } from '../../lib/timers.ts'
import type { HookEventListener } from '../../message/hook-events.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource, Target } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { Store } from '../../store/store.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { TurnNotices } from '../turn/turn-notices.ts'
import type { TurnWait } from '../turn/waiting.ts'

export interface ApprovalsDeps {
  readonly store: Store
  readonly outbox: Outbox
  readonly engine: Engine
  readonly accountDirectory: AccountDirectory
  readonly clock: () => number
  readonly log: Logger
  readonly settings: () => ApprovalsConfig
  adapter(target: Target): PlatformAdapter | undefined
  readonly emit: HookEventListener
  emitsEvents(source: SessionSource): boolean
  isOpen(): boolean
  readonly plugins: ApprovalListener
  /** Takes secrets out of what users are shown. */
  readonly redact: Redactor
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  readonly waitInTurn: TurnWait
  /** Interrupts the turn of a session; the next start resumes it. */
  abortTurn(sessionKey: SessionKey): void
  /** Ends the turn of a session. Resolves when it has ended. */
  stopTurn(sessionKey: SessionKey): Promise<unknown>
  readonly notices: Pick<TurnNotices, 'endedAfterRefusals'>
  readonly home: Pick<HomeLayout, 'root' | 'configFile'>
  reloadConfig(): unknown
  /** `HERMES_YOLO_MODE`, as it was when the process started. */
  readonly yoloMode: boolean
  /** The model that `approvals.mode: smart` asks. Called after the composition. */
  readonly auxiliary: Auxiliary
  failpoint(point: string): void
}

export interface Approvals {
  readonly questions: Questions
  readonly confirmCommand: SlashConfirm
  readonly approveTool: ApproveTool
  /** Asks the user of the turn to which the call belongs. */
  askUserFor(call: AskingCall): AskUser
}

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { store, outbox, engine, accountDirectory, clock, log, settings, emit, isOpen, failpoint } = deps
  const completionSignals = createCompletionSignals()
  const questions = createQuestions({
    store,
    outbox,
    clock,
    sleep,
    log,
    newId: uuid7,
    isOpen,
    emit,
    emitsEvents: deps.emitsEvents,
    accounts: accountDirectory,
    plugins: deps.plugins,
    showsButtons: (target) => deps.adapter(target)?.showsButtons === true,
    commandPrefix: (platform) => accountDirectory.platform(platform)?.commandPrefix ?? '/',
    wake: (sessionKey) => engine.wake(sessionKey, 'control'),
    onResolved: completionSignals.complete,
    failpoint,
  })
  const waiting = { ...deps, questions, completionSignals }
  const approveTool = lazy(async () => {
    const { createCommandApproval } = await import('./command-approval.ts')
    return createCommandApproval({
      ...waiting,
      accounts: accountDirectory,
      async endTurn(event, turnId, sessionKey) {
        await deps.notices.endedAfterRefusals(event, turnId)
        // The tool call that is being refused belongs to the turn, so the end is not awaited.
        void deps.stopTurn(sessionKey)
      },
    })
  })
  return {
    questions,
    confirmCommand: createSlashConfirm(store, questions, settings),
    approveTool: async (request, signal) => (await approveTool())(request, signal),
    askUserFor: (call) => async (question, signal) => {
      const { createAskUser } = await import('../../approvals/clarify.ts')
      return createAskUser(waiting, call)(question, signal)
    },
  }
}
