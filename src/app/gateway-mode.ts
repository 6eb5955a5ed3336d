/**
 * A daemon, or a gateway that a terminal embeds while a command runs. What differs is decided here, and asked nowhere else.
 */
import type { GatewayOptions } from './options.ts'

export interface GatewayMode {
  /** Whether this process works on the conversations of a platform. */
  serves(platform: string): boolean
  /** Work goes on after the turn that began it: jobs, sub-agents in the background, reports of commands, titles. */
  readonly staysUp: boolean
  /** An embedded gateway loads no gateway hooks (contract §1.2). */
  readonly loadsHooks: boolean
  /** Where HTTP listens instead of the configured address. */
  readonly address: { readonly host?: string; readonly port?: number }
  /** Restarts the process; absent where that is not possible. */
  readonly restart: (() => void) | undefined
}

export function gatewayMode({ onlyPlatforms, onRestartRequest }: GatewayOptions): GatewayMode {
  if (onlyPlatforms === undefined)
    return { serves: () => true, staysUp: true, loadsHooks: true, address: {}, restart: onRestartRequest }
  return {
    serves: (platform) => onlyPlatforms.includes(platform),
    staysUp: false,
    loadsHooks: false,
    address: { host: '127.0.0.1', port: 0 },
    restart: undefined,
  }
}
