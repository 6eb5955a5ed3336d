/**
 * Slack's normalise function, for the replays of this folder.
 */
import type { NormalizeContext } from '../../../platforms/slack/inbound/context.ts'
import { normalize } from '../../../platforms/slack/inbound/normalize.ts'
import { parseRules } from '../../../platforms/slack/options.ts'
import { type ReplaySubject, valueAt } from '../../kit/replay.ts'

const commands = new Set(['new', 'stop', 'status', 'help', 'model'])
const names = new Map([
  ['U0ADA00001', 'Ada'],
  ['C0RELEASES', 'releases'],
])

export const subject: ReplaySubject = {
  platform: 'slack',
  allowed: 'U0ADA00001',
  normalize(payload, account) {
    const incoming = normalize(payload, viewOf(account))
    switch (incoming.kind) {
      case 'message':
      case 'slash':
        return [incoming.event]
      case 'change':
        return [incoming.change]
      case 'press':
        return [incoming.press]
      case 'refused':
      case 'ignored':
        return []
    }
  },
  authors: (payload) => [
    // Events, interactions, slash commands.
    valueAt(payload, 'event', 'user'),
    valueAt(payload, 'event', 'bot_id'),
    valueAt(payload, 'event', 'message', 'user'),
    valueAt(payload, 'event', 'message', 'bot_id'),
    valueAt(payload, 'event', 'previous_message', 'user'),
    valueAt(payload, 'user', 'id'),
    valueAt(payload, 'user_id'),
  ],
}

export function viewOf(account: Readonly<Record<string, unknown>>): NormalizeContext {
  return {
    platform: 'slack',
    account: 'default',
    identity: { teamId: 'T0TEAM001', teamName: 'Test Team', botUserId: 'U0BOT0001', botId: 'B0BOT0001' },
    rules: parseRules(account),
    isCommand: (name) => commands.has(name),
    hasJoinedThread: (channel, threadTs) => channel === 'C0GENERAL' && threadTs === '1763700000.000100',
    nameOf: (id) => names.get(id),
    now: () => 1_763_712_000_000,
  }
}
