/**
 * Runs the diagnosis of the adapter for each enabled account, all of them in parallel.
 */
import { z } from 'zod'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { withTimeout } from '../../lib/timers.ts'
import { type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import { loadPlatform } from '../../platforms/registry.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

/** The limit for the import of an adapter and its diagnosis. */
const diagnoseTimeoutMs = 10_000

/** Adapters of users may return anything. */
const diagnosesSchema = z.array(
  z.object({ state: z.enum(['ok', 'note', 'problem']), text: z.string(), advice: z.string().optional() }),
)

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
  limitMs = diagnoseTimeoutMs,
): Promise<CheckResult[]> {
  const enabled = accounts.filter(({ blocked }) => blocked === undefined)
  return (await Promise.all(enabled.map((account) => diagnoseAccount(account, gatewayUrl, limitMs)))).flat()
}

/** Never rejects. */
async function diagnoseAccount(account: PlatformAccount, gatewayUrl: string | undefined, limitMs: number) {
  const name = nameOf(account)
  const controller = new AbortController()
  try {
    const diagnosis = await withTimeout(runDiagnose(account, gatewayUrl, controller.signal), limitMs)
    if (diagnosis.done) return diagnosis.value
    const advice = 'Check the network and the address of the platform, then run hermes doctor again.'
    return [problem('Platforms', `${name}: no answer within ${limitMs / 1_000} s`, advice)]
  } catch (error) {
    if (isHermesError(error)) return [problem('Platforms', `${name}: ${error.message}`, error.hint)]
    return [problem('Platforms', `${name}: the diagnosis failed: ${messageOf(error)}`, defaultAdvice(account))]
  } finally {
    controller.abort()
  }
}

/** Empty for a platform without a diagnosis. May throw anything. */
async function runDiagnose(account: PlatformAccount, gatewayUrl: string | undefined, signal: AbortSignal) {
  const module = await loadPlatform(account.platform)
  if (module.diagnose === undefined) return []
  const results = await module.diagnose({ account: account.account, options: account.options, gatewayUrl }, signal)
  const diagnoses = diagnosesSchema.safeParse(results)
  if (!diagnoses.success) {
    throw new HermesError(
      'platform/invalid',
      `${account.platform.adapterFile}: diagnose() did not return a list of diagnoses.`,
    )
  }
  return diagnoses.data.map(({ state, text, advice }): CheckResult => {
    const line = `${nameOf(account)}: ${text}`
    if (state === 'problem') return problem('Platforms', line, advice ?? defaultAdvice(account))
    return state === 'ok' ? ok('Platforms', line) : note('Platforms', line, advice)
  })
}

function defaultAdvice({ platform: { name } }: PlatformAccount): string {
  return `Check platforms.${name} in config.yaml and the network, then run hermes doctor again.`
}

function nameOf({ platform, account }: PlatformAccount): string {
  return account === 'default' ? platform.name : `${platform.name}/${account}`
}
