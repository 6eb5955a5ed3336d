/**
 * Who is who: which accounts there are, who may write to them, and which conversation a message belongs to.
 */

import type { GatewayShapes } from '../app/config.ts'
import type { Config } from '../config/load.ts'
import { decideAccess, deniesEveryone } from '../inbox/access.ts'
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import { type AccountPolicy, type PlatformAccount, platformAccounts } from '../platforms/accounts.ts'
import type { InstalledPlatform, PlatformCatalogue } from '../platforms/registry.ts'
import { isSharedSession, type SessionKeyRules, sessionKeyOf } from '../sessions/session-key.ts'

export interface AccountDirectory {
  list(): readonly PlatformAccount[]
  /** Reads the accounts anew after the configuration has changed, and warns of those that let nobody in. */
  refresh(): readonly PlatformAccount[]
  platform(name: string): InstalledPlatform | undefined
  access(event: Pick<MessageEvent, 'source' | 'internal'>): { readonly allowed: boolean; readonly reason: string }
  /** How the gateway behaves on an account; the defaults for one that is not configured (any more). */
  policyOf(of: Pick<SessionSource, 'platform' | 'account'>): AccountPolicy
  sessionKey(source: SessionSource): SessionKey
  /** Several people talk in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Whether what happens there is a gateway event. What happens in the background is none. */
  emitsEvents(source: Pick<SessionSource, 'platform'>): boolean
}

export interface AccountDirectoryDeps {
  readonly catalogue: PlatformCatalogue
  readonly config: Config<GatewayShapes>
  readonly log: Logger
  /** Only these platforms. */
  readonly onlyPlatforms: readonly string[] | undefined
}

export function createAccountDirectory({
  catalogue,
  config,
  log,
  onlyPlatforms: only,
}: AccountDirectoryDeps): AccountDirectory {
  const installed = new Map(catalogue.platforms.map((platform) => [platform.name, platform]))
  let accounts = read()
  warnOfEmptyAllowLists()

  function read(): PlatformAccount[] {
    const { platforms, gateway } = config.current()
    const chosen = catalogue.platforms.filter(({ name }) => only === undefined || only.includes(name))
    const all = platformAccounts(chosen, { platforms, gateway, unresolved: config.unresolvedVariables() })
    // A configuration that cannot be used opens no door to the outside; the page and the terminal stay, to mend it.
    const unusable = config.state().source === 'defaults' && config.state().problems.length > 0
    return unusable ? all.filter(({ platform }) => platform.access === 'token') : all
  }

  function warnOfEmptyAllowLists(): void {
    for (const { platform, account, blocked, access: rules } of accounts) {
      if (blocked !== undefined || !deniesEveryone(rules)) continue
      const advice = `nobody may write here yet: set platforms.${platform.name}.allow_from`
      log.warn({ platform: platform.name, account }, advice)
    }
  }

  function accountOf({ platform, account }: Pick<SessionSource, 'platform' | 'account'>): PlatformAccount | undefined {
    return accounts.find((one) => one.platform.name === platform && one.account === account)
  }

  function keyRules(source: SessionSource): SessionKeyRules {
    const { group_sessions_per_user, thread_sessions_per_user } = config.current()
    return {
      groupSessionsPerUser: group_sessions_per_user,
      threadSessionsPerUser: thread_sessions_per_user,
      scoped: installed.get(source.platform)?.sessionScope === 'scope_id',
    }
  }

  return {
    list: () => accounts,
    refresh() {
      accounts = read()
      warnOfEmptyAllowLists()
      return accounts
    },
    platform: (name) => installed.get(name),
    access({ source, internal }) {
      const known = accountOf(source)
      if (known === undefined) return { allowed: false, reason: 'the account is not configured' }
      return decideAccess(source, { internal }, known.access)
    },
    policyOf: (of) => accountOf(of)?.policy ?? { edits: 'amend', replyTo: 'first', typing: false },
    sessionKey: (source) => sessionKeyOf(source, keyRules(source)),
    isShared: (source) => isSharedSession(source, keyRules(source)),
    emitsEvents: (source) => installed.get(source.platform)?.gatewayEvents === true,
  }
}
