/**
 * An environment in a place that a client program reaches.
 */
import type { Environment } from './environment.ts'
import type { RemoteClient } from './remote-client.ts'

export interface RemoteEnvironmentOptions {
  /** The working directory in the place: absolute, `~` or below `~`. */
  readonly cwd: string
  /** The variables that commands receive in addition to those of the place. */
  readonly variables?: Readonly<Record<string, string>>
  readonly isContainer?: boolean
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs?: number
  /** A path that the file tools may not read or write there; the reason is a clause such as "it contains credentials". */
  denial?(path: string, intent: 'read' | 'write'): string | undefined
}

export function createRemoteEnvironment(client: RemoteClient, options: RemoteEnvironmentOptions): Environment {
  void options
  throw new Error(`${client.kind} is not implemented yet`)
}
