/**
 * What it means when Discord's gateway closes the connection.
 */
import { HermesError } from '#sdk'

/** Close codes after which connecting again cannot help, and what to do instead. */
const fatalCloseCodes: Readonly<Record<number, string>> = {
  4010: 'Discord does not accept the shard of this connection (4010).',
  4011: 'The bot is on more servers than one connection may serve (4011); hermes-gateway opens one. Use several bots.',
  4012: 'Discord no longer speaks this version of its gateway (4012). Update hermes-gateway.',
  4013: 'Discord does not know the intents of this connection (4013). Update hermes-gateway.',
  4014:
    'Discord does not let the bot read messages (4014): switch on Message Content Intent in the Developer Portal ' +
    '(your application → Bot → Privileged Gateway Intents), then restart the gateway.',
}

const authenticationFailed = 4004

/** Undefined where a new connection may do. */
export function fatalCloseError(code: number): HermesError | undefined {
  if (code === authenticationFailed) {
    const what = 'Discord does not accept the token of the bot (4004).'
    return new HermesError('platform/unauthorised', what)
  }
  const text = fatalCloseCodes[code]
  return text === undefined ? undefined : new HermesError('platform/refused', text)
}

export function describeCloseCode(code: number): string {
  if (code === 1006) return 'the connection to Discord was lost'
  if (code === 1000) return 'the session with Discord has ended'
  // What discord.js closes with itself, when it was asked to come back or hears no heartbeat.
  if (code === 4200) return 'the connection to Discord is being renewed'
  return `Discord closed the connection (${code})`
}
