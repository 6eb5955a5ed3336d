/**
 * Composes pairing. Its code and its files are loaded with the first refused message, or with the first request of an owner.
 */

import type { HandleRefusal } from '../flows/access/access-refusals.ts'
import type { PairingAdmin } from '../flows/access/pairing-admin.ts'
import { isHermesError } from '../lib/errors.ts'
import { lazy } from '../lib/lazy.ts'
import { defaultProfile, locateProfile } from '../lib/profiles.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { PlatformAccount } from '../platforms/accounts.ts'
import type { AppContext } from './context.ts'

export interface PairingControl {
  /** Rejects when the code cannot be loaded. */
  admin(): Promise<PairingAdmin>
  /** Rejects `store/...`; other failures are logged. */
  readonly refused: HandleRefusal
}

/** @param endRevoked ends the messages of people who had access by these accounts, and have none now */
export function composePairing(
  context: AppContext,
  outbox: Pick<Outbox, 'prepare'>,
  endRevoked: (before: readonly PlatformAccount[]) => Promise<void>,
): PairingControl {
  const { options, config, accountDirectory, store, clock, log, failpoint } = context

  async function open() {
    const { createPairingAdmin } = await import('../flows/access/pairing-admin.ts')
    const { createAccessRefusals } = await import('../flows/access/access-refusals.ts')
    const admin = createPairingAdmin({
      home: options.home,
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
      clock,
      log,
    })
    const { policyOf } = accountDirectory
    const { pairing } = admin
    const { profile } = locateProfile(options.home.root)
    const command = profile === defaultProfile ? 'hermes' : `hermes -p ${profile}`
    const refused = createAccessRefusals({ store, outbox, pairing, command, policyOf, clock, log, failpoint })
    return { admin, refused }
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
