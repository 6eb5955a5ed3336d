/**
 * Connects the approvals with the inbox, the outbox, the accounts and the turns.
 */
import type { ApproveTool } from '../../agent/loop/tool-approval.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { AskUser } from '../../agent/tools/clarify.ts'
import type { AskingCall } from '../../approvals/clarify.ts'
import type { ApprovalsConfig } from '../../approvals/config.ts'
import type { ApprovalListener } from '../../approvals/contract.ts'
import { createQuestions, type Questions } from '../../approvals/questions.ts'
import { createSlashConfirm, type SlashConfirm } from '../../approvals/slash-confirm.ts'
import type { AskingCalls } from '../../approvals/tool-approval.ts'
import type { Environment } from '../../config/environment.ts'
import type { Config } from '../../config/load.ts'
import type { ConfigShape } from '../../config/section.ts'
import type { Engine } from '../../engine/engine.ts'
import { lazyFunction } from '../../lib/cache.ts'
import { uuid7 } from '../../lib/ids.ts'
import type { SecretRegistry } from '../../lib/redact.ts'
import { sleep } from '../../lib/timers.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { RunningTurns, TurnWait } from '../../sessions/running-turns.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { GatewayEvents } from '../events/gateway-events.ts'
import type { TurnNotices } from '../turn/turn-notices.ts'

interface ApprovalGateway extends Runtime {
  readonly settings: () => ApprovalsConfig
  readonly config: Pick<Config<ConfigShape>, 'environment' | 'reload'>
  readonly secrets: Pick<SecretRegistry, 'redact'>
  readonly accountDirectory: AccountDirectory
  readonly lifecycle: { readonly phase: string; storesForNextStart(): boolean }
}

/** The turns that ask, and the route of the questions. */
interface AskingTurns {
  readonly outbox: Outbox
  readonly engine: Engine
  readonly events: Pick<GatewayEvents, 'emit' | 'emitsEvents'>
  readonly gatewayHooks: ApprovalListener
  readonly runningTurns: Pick<RunningTurns, 'abort' | 'stop'>
  readonly turnNotices: Pick<TurnNotices, 'endedAfterRefusals'>
  readonly waitInTurn: TurnWait
  /** The model that `approvals.mode: smart` asks. Called after the composition. */
  readonly auxiliary: Auxiliary
}

export interface Approvals {
  readonly questions: Questions
  readonly confirmCommand: SlashConfirm
  readonly approveTool: ApproveTool
  /** Asks the user of the turn to which the call belongs. */
  askUserFor(call: AskingCall): AskUser
}

export function createApprovals(gateway: ApprovalGateway, turns: AskingTurns): Approvals {
  const { store, accountDirectory, config, lifecycle, clock, log, settings, stopping, failpoint } = gateway
  const { outbox, engine, events, runningTurns, waitInTurn } = turns
  const yoloMode = isYoloMode(config.environment())
  const questions = createQuestions({
    ...{ store, outbox, clock, sleep, log, newId: uuid7, failpoint },
    // The turn that asked goes on at the next start, and finds the answer.
    isOpen: () => lifecycle.phase === 'ready' || lifecycle.storesForNextStart(),
    emit: events.emit,
    emitsEvents: events.emitsEvents,
    accounts: accountDirectory,
    plugins: turns.gatewayHooks,
    wake: (sessionKey) => engine.wake(sessionKey, 'control'),
  })
  const asking: AskingCalls = {
    ...{ store, clock, settings, stopping, failpoint, questions, waitInTurn },
    redact: gateway.secrets.redact,
    abortTurn: runningTurns.abort,
  }
  const approveTool = lazyFunction(async () => {
    const { createCommandApproval } = await import('./command-approval.ts')
    return createCommandApproval(gateway, turns.auxiliary, {
      ...{ ...asking, log, yoloMode, accounts: accountDirectory },
      async endTurn(event, turnId, sessionKey) {
        await turns.turnNotices.endedAfterRefusals(event, turnId)
        // The tool call that is being refused belongs to the turn, so the end is not awaited.
        void runningTurns.stop(sessionKey)
      },
    })
  })
  return {
    questions,
    confirmCommand: createSlashConfirm(store, questions, settings),
    approveTool,
    askUserFor: (call) => async (question, signal) => {
      const { createAskUser } = await import('../../approvals/clarify.ts')
      return createAskUser(asking, call)(question, signal)
    },
  }
}

/** Read once: a command of the agent must not switch it on by an edit of `.env`. */
function isYoloMode({ values }: Environment): boolean {
  return /^(?:1|true|yes|on)$/i.test(values['HERMES_YOLO_MODE'] ?? '')
}
