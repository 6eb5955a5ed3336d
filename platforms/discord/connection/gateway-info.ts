/**
 * Where Discord's gateway is, and how many sessions it still gives: the answer to `GET /gateway/bot`. Pure.
 */
import type { IContextFetchingStrategy } from '@discordjs/ws'
import { HermesError } from '#sdk'
import { asRecord, numberAt, textAt } from '../inbound/payload.ts'

export type GatewayInfo = IContextFetchingStrategy['options']['gatewayInformation']

/** Throws where the answer names no gateway: something else than Discord has answered. */
export function parseGatewayInfo(answer: unknown): GatewayInfo {
  const data = asRecord(answer)
  const url = textAt(data, 'url')
  const limit = asRecord(data['session_start_limit'])
  if (url === undefined || !isGatewayUrl(url)) {
    throw new HermesError('platform/connect-failed', 'The address of the gateway is missing: is api_url right?')
  }
  return {
    url: url.replace(/\/$/, ''),
    shards: numberAt(data, 'shards') ?? 1,
    session_start_limit: {
      total: numberAt(limit, 'total') ?? 1_000,
      remaining: numberAt(limit, 'remaining') ?? 1,
      reset_after: numberAt(limit, 'reset_after') ?? 0,
      max_concurrency: numberAt(limit, 'max_concurrency') ?? 1,
    },
  }
}

/** A shard that is given an address it cannot use would end the process. */
export function isGatewayUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hash } = new URL(url)
  return (protocol === 'wss:' || protocol === 'ws:') && hash === ''
}
