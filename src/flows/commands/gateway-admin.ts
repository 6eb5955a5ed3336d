/**
 * What owners do to the gateway with a command: choose the home channel, and restart. Loaded with the first such command.
 */

import { textReply } from '../../commands/command.ts'
import type { GatewayAdmin } from '../../commands/gateway.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { clearHomeChannel, setHomeChannel } from '../delivery/home-channels.ts'
import { type RestartingGateway, storeRestart } from '../lifecycle/restart.ts'

interface AdminGateway extends RestartingGateway {
  readonly lifecycle: {
    /** When this process started, ms. */
    readonly startedAt: number
  }
  readonly mode: {
    /** Starts the restart. Undefined where the owner of the process cannot restart. */
    readonly restart: (() => void) | undefined
  }
}

/** A person who was refused, because the clock of the platform is behind, needs longer to write the command again. */
const minRetryMs = 3_000

export function createGatewayAdmin(gateway: AdminGateway, outbox: Pick<Outbox, 'prepare'>): GatewayAdmin {
  const { lifecycle, mode, clock } = gateway
  let refusedAt: number | undefined
  return {
    setHome: (source) => ({
      *write(now) {
        yield* setHomeChannel(targetOf(source), nameOf(source), now)
        return `🏠 This chat is now the home channel of ${source.platform}. Messages that belong to no other chat come here. \`/sethome off\` ends it.`
      },
    }),
    clearHome: (source) => ({
      *write() {
        const isCleared = yield* clearHomeChannel(targetOf(source))
        return isCleared
          ? `${source.platform} has the home channel of the configuration again, if there is one.`
          : `No chat was chosen as the home channel of ${source.platform}.`
      },
    }),
    restart(source, sentAt) {
      const { restart } = mode
      if (restart === undefined)
        return textReply('This gateway belongs to a terminal and ends with it. Nothing is restarted.')
      // A platform delivers a command again that arrived while the last process stopped.
      const isOld = sentAt !== undefined && sentAt < lifecycle.startedAt
      if (isOld && clock() - (refusedAt ?? clock()) < minRetryMs) {
        refusedAt ??= clock()
        return textReply('The gateway has started since you wrote this. Send `/restart` again to restart it once more.')
      }
      return {
        *write(now) {
          yield* storeRestart(gateway, outbox, targetOf(source), now)
          return '🔄 The gateway restarts. What I am doing now has a moment to end; the rest goes on afterwards.'
        },
        committed: restart,
      }
    },
  }
}

function nameOf({ chatName, chatType, userName = '' }: SessionSource): string {
  return chatName ?? (chatType === 'dm' ? userName : '')
}
