/**
 * The contract of a kind of environment: what `terminal.backend` names. Built-in kinds are loaded when they are configured;
 * plugins register theirs with `ctx.registerEnvironment`.
 */
import type { Logger } from '../../lib/log.ts'
import type { Environment } from './environment.ts'

/** What an environment of one conversation is created from. */
export interface EnvironmentRequest<Settings = Readonly<Record<string, unknown>>> {
  /** Of the conversation or of the sub-agent. Names what the place keeps for it. */
  readonly sessionId: string
  /** `terminal.cwd` as configured; '' if it is not. */
  readonly cwd: string
  /** The section `terminal` of the configuration. */
  readonly settings: Settings
  /** The variables of the gateway, for a client program on this machine. They contain secrets and never enter the place. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /** The variables that commands in the place receive: those of `terminal.env_passthrough`. */
  readonly variables: Readonly<Record<string, string>>
  /** Names that no setting passes into a place. */
  readonly withheld: readonly string[]
  /** The home of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** A directory of the gateway for what the kind keeps: sockets, images. It may be missing. */
  readonly stateDirectory: string
  /** Where the files of conversations are downloaded to. */
  readonly attachmentsDirectory: string
  /** Tells the people of the conversation what they wait for, such as the download of an image. Absent: no person waits. */
  announce?(text: string): void
  readonly log: Logger
}

/** Whether a place can be used, for status, doctor and `config check`. */
export type EnvironmentCheck =
  | { readonly ok: true; readonly detail: string }
  /** `code` of the error catalogue (`environment/...`). `hint` says what to do. */
  | { readonly ok: false; readonly code: string; readonly detail: string; readonly hint: string }

export interface EnvironmentKind<Settings = Readonly<Record<string, unknown>>> {
  /** Creates the environment of a conversation. Cheap and without effects: the place is prepared by the first command. */
  create(request: EnvironmentRequest<Settings>): Environment
  /** Whether the place can be reached. Changes nothing, and takes at most about 5 s. Never rejects. */
  check?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<EnvironmentCheck>
  /** At the start of the gateway: finds or removes what an earlier process left behind. Rejections are logged. */
  recover?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<void>
}
