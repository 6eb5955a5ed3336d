/**
 * The contract of a kind of environment: what `terminal.backend` names. Plugins register kinds with `ctx.registerEnvironment`;
 * those that come with the gateway are loaded when they are configured.
 */
import type { Logger } from '../../lib/log.ts'
import type { Environment } from './environment.ts'
import type { RemoteEnvironmentOptions } from './remote-environment.ts'
import type { ScriptEnvironmentOptions } from './scripts/script-environment.ts'

/** What an environment of one conversation is created from. */
export interface EnvironmentRequest<Settings = Readonly<Record<string, unknown>>> {
  /** The conversation or the sub-agent. Names what the environment keeps for it. */
  readonly sessionId: string
  /** `terminal.cwd` as configured; '' if it is not. */
  readonly cwd: string
  /** The section `terminal` of the configuration. */
  readonly settings: Settings
  /** The variables of the gateway. They contain secrets: see `clientVariables`. */
  readonly gatewayEnv: Readonly<Record<string, string | undefined>>
  /**
   * The variables for a client program on this machine: the harmless ones of the gateway, and those of these names. No name
   * passes a credential of the gateway itself.
   */
  clientVariables(names: readonly string[]): Record<string, string>
  /** The variables that commands in the environment receive: those of `terminal.env_passthrough`. */
  readonly variables: Readonly<Record<string, string>>
  /** Names that no setting passes into an environment. */
  readonly withheld: readonly string[]
  /** The home of the gateway (`HERMES_HOME`), absolute. */
  readonly home: string
  /** The profile whose home it is. */
  readonly profile: string
  /** A directory of the gateway for what the kind keeps: sockets, images. It may be missing. */
  readonly stateDirectory: string
  /** Where the files of conversations are downloaded to. */
  readonly attachmentsDirectory: string
  /** Tells the people of the conversation what they wait for, such as the download of an image. Absent: no person waits. */
  announce?(text: string): void
  readonly log: Logger
}

/** Whether an environment can be used, for status, doctor and `config check`. */
export type EnvironmentCheck =
  | { readonly ok: true; readonly detail: string }
  /** `code` of the error catalogue (`environment/...`). `hint` says what to do. */
  | { readonly ok: false; readonly code: string; readonly detail: string; readonly hint: string }

/** Without `files`, the file tools use `execute`: the environment then needs sh, base64 and the common programs for files. */
export type PluginEnvironment = Omit<Environment, 'files'> & Partial<Pick<Environment, 'files'>>

/**
 * Creates the environment of a conversation. Cheap and without effects: the first command prepares it. An environment that a
 * client program reaches, such as `ssh`, is described by `RemoteEnvironmentOptions`; one that can only run short scripts, as
 * the HTTP API of a sandbox does, by `ScriptEnvironmentOptions`.
 */
export type EnvironmentFactory<Settings = Readonly<Record<string, unknown>>> = (
  request: EnvironmentRequest<Settings>,
) => PluginEnvironment | RemoteEnvironmentOptions | ScriptEnvironmentOptions

export interface EnvironmentKind<Settings = Readonly<Record<string, unknown>>> {
  readonly create: EnvironmentFactory<Settings>
  /** Whether the environment can be reached. Changes nothing, and takes at most about 5 s. Never rejects. */
  check?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<EnvironmentCheck>
  /** At the start of the gateway: finds or removes what an earlier process left behind. Rejections are logged. */
  recover?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<void>
}
