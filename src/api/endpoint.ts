/**
 * The gateway that a front end uses: a daemon, or one in the process of the front end.
 */
import type { ApiAccess } from './client.ts'

export interface Endpoint extends ApiAccess {
  readonly model: string
  readonly degraded: readonly string[]
  /** The plugins that could not be loaded. */
  readonly plugins: readonly { readonly id: string; readonly state: string; readonly reason: string }[]
  /** Whether another process runs the turns, so that only its notices tell what they wait for. */
  readonly isDaemon: boolean
  /** Warnings that may explain a failed question. */
  warnings(): readonly string[]
  /** Stops a gateway in this process; its turns are interrupted, and recovered by the next start. */
  close(): Promise<void>
}
