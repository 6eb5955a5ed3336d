/**
 * Runs the diagnosis of the adapter for each enabled account, all of them in parallel.
 */
import { type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import { diagnoseAccount } from '../../platforms/diagnose.ts'
import type { Check, CheckResult } from './check-result.ts'

export const checkPlatformConnections: Check = ({ settings: { config, catalogue }, daemon }) => {
  const { platforms, gateway } = config.current()
  const accounts = platformAccounts(catalogue.platforms, {
    platforms,
    gateway,
    unusable: config.unusableSettings(),
  })
  return diagnosePlatforms(accounts, daemon?.url)
}

/** Skips accounts that are disabled or not completely configured. Never rejects. */
export async function diagnosePlatforms(
  accounts: readonly PlatformAccount[],
  gatewayUrl: string | undefined,
  limitMs?: number,
): Promise<CheckResult[]> {
  const enabled = accounts.filter(({ blocked }) => blocked === undefined)
  const results = enabled.map(async (account) => {
    const diagnoses = await diagnoseAccount(account, gatewayUrl, limitMs)
    return diagnoses.map(({ state, text, advice }): CheckResult => {
      return {
        state,
        subject: 'Platforms',
        text: `${nameOf(account)}: ${text}`,
        advice: state === 'ok' ? undefined : advice,
      }
    })
  })
  return (await Promise.all(results)).flat()
}

function nameOf({ platform, account }: PlatformAccount): string {
  return account === 'default' ? platform.name : `${platform.name}/${account}`
}
