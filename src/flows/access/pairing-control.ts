/**
 * Opens pairing. Its code and its files are loaded with the first refused message, or with the first request of an owner.
 */

import type { Config } from '../../config/load.ts'
import type { ConfigShape } from '../../config/section.ts'
import { lazy } from '../../lib/cache.ts'
import { isHermesError } from '../../lib/errors.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { HandleRefusal } from './access-refusals.ts'
import type { AccountDirectory } from './account-directory.ts'
import type { PairingAdmin } from './pairing-admin.ts'

export interface PairingControl {
  /** Rejects when the code cannot be loaded. */
  admin(): Promise<PairingAdmin>
  /** Rejects `store/...`; other failures are logged. */
  readonly refused: HandleRefusal
}

interface PairingGateway extends Runtime {
  readonly config: Pick<Config<ConfigShape>, 'environment' | 'reload'>
  readonly accountDirectory: Pick<AccountDirectory, 'list' | 'setPaired' | 'policyOf'>
}

/** @param endRevoked ends the messages of people who had access by these accounts, and have none now */
export function createPairingControl(
  gateway: PairingGateway,
  outbox: Pick<Outbox, 'prepare'>,
  endRevoked: (before: readonly PlatformAccount[]) => Promise<void>,
): PairingControl {
  const { config, accountDirectory, log } = gateway

  async function open() {
    const { createPairingAdmin } = await import('./pairing-admin.ts')
    const { createAccessRefusals } = await import('./access-refusals.ts')
    const admin = createPairingAdmin(gateway, {
      environment() {
        // `.env` may have changed a moment ago.
        config.reload()
        return config.environment()
      },
      accounts() {
        config.reload()
        return accountDirectory.list()
      },
      onChange(people) {
        const before = accountDirectory.list()
        accountDirectory.setPaired(people)
        endRevoked(before).catch((error: unknown) =>
          log.error({ event: 'access.messages_not_ended', err: error }, 'messages of revoked people were not ended'),
        )
        config.reload()
      },
    })
    return { admin, refused: createAccessRefusals(gateway, outbox, admin.pairing, accountDirectory.policyOf) }
  }

  const load = lazy(open)

  return {
    admin: async () => (await load()).admin,
    async refused(event, reason) {
      try {
        const { refused } = await load()
        await refused(event, reason)
      } catch (error) {
        if (isHermesError(error) && error.code.startsWith('store/')) throw error
        // A failure here must not hold up the other messages of the platform.
        log.error({ event: 'inbox.refusal_failed', err: error }, 'a refused message was neither recorded nor answered')
      }
    },
  }
}
