/**
 * Composes what asks people before tools and commands run.
 */
import type { Auxiliary } from '../agent/models/auxiliary.ts'
import type { Environment } from '../config/environment.ts'
import { type Approvals, createApprovals } from '../flows/approvals/approvals.ts'
import type { TurnWait } from '../flows/turn/waiting.ts'
import type { GatewayHooks } from '../plugins/gateway-hooks.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'

/** Read once: a command of the agent must not switch it on by an edit of `.env`. */
function isYoloMode({ values }: Environment): boolean {
  return /^(?:1|true|yes|on)$/i.test(values['HERMES_YOLO_MODE'] ?? '')
}

export interface ApprovalParts extends Pick<Core, 'outbox' | 'engine' | 'events' | 'runningTurns' | 'turnNotices'> {
  readonly auxiliary: Auxiliary
  readonly gatewayHooks: GatewayHooks
  readonly waitInTurn: TurnWait
}

export function composeApprovals(context: AppContext, parts: ApprovalParts): Approvals {
  const { options, config, accountDirectory, platforms, settings } = context
  const { store, secrets, lifecycle, clock, log, failpoint } = context
  return createApprovals({
    store,
    outbox: parts.outbox,
    engine: parts.engine,
    accountDirectory,
    clock,
    log,
    settings,
    emit: parts.events.emit,
    emitsEvents: parts.events.emitsEvents,
    adapter: platforms.adapter,
    // The turn that asked goes on at the next start, and finds the answer.
    isOpen: () => lifecycle.isOpen() || lifecycle.storesForNextStart(),
    plugins: parts.gatewayHooks,
    redact: secrets.redact,
    stopping: lifecycle.stopping,
    waitInTurn: parts.waitInTurn,
    abortTurn: parts.runningTurns.abort,
    stopTurn: parts.runningTurns.stop,
    notices: parts.turnNotices,
    home: options.home,
    reloadConfig: config.reload,
    yoloMode: isYoloMode(config.environment()),
    auxiliary: parts.auxiliary,
    failpoint,
  })
}
