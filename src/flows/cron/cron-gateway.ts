/**
 * The gateway as scheduled jobs see it.
 */
import type { Environment } from '../../agent/environments/environment.ts'
import type { Skills } from '../../agent/skills/skills.ts'
import type { CustomToolsets, SelectableTool } from '../../agent/toolsets/select-tools.ts'
import type { CronConfig } from '../../cron/config.ts'
import type { JobPlaces } from '../../cron/runs.ts'
import type { EventResults, Inbox } from '../../inbox/inbox.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { DeliveryConfig } from '../delivery/config.ts'
import type { Destinations } from '../delivery/resolve-target.ts'
import type { GatewayEvents } from '../events/gateway-events.ts'
import type { SessionServices } from '../sessions/session-services.ts'

/** The gateway in which jobs run. */
export interface CronGateway extends Destinations, Runtime {
  readonly accountDirectory: Destinations['accountDirectory'] & Pick<AccountDirectory, 'lowerAuthority' | 'isRevoked'>
  readonly settings: () => CronConfig &
    DeliveryConfig & {
      readonly timezone: string
      readonly platform_toolsets: Readonly<Record<string, readonly string[]>>
      readonly custom_toolsets: CustomToolsets
    }
}

/** The route of the message of a job. */
export interface CronCore {
  readonly inbox: Pick<Inbox, 'accept'>
  readonly turnResults: Pick<EventResults, 'wait'>
  readonly outbox: Pick<Outbox, 'prepare' | 'withhold'>
  readonly sessionServices: Pick<SessionServices, 'stopEvent'>
  /** The turns of jobs take them too. */
  readonly jobPlaces: JobPlaces
  /** `jobFired` neither throws nor waits. */
  readonly events: Pick<GatewayEvents, 'jobFired'>
}

/** What a job uses of the agent. */
export interface CronAgent {
  openShell(): Promise<{ readonly environment: Environment }>
  readonly skills: {
    load(): Promise<Pick<Skills, 'list'>>
    /** The text of skills for the model. Rejects with system errors. */
    read(names: readonly string[]): Promise<string>
  }
  knownTools(): Promise<readonly SelectableTool[]>
  /** The provider that is configured. */
  usualProvider(): string
}
