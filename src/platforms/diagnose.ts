/**
 * Asks the adapter of an account whether it can work, and how people reach it. Adapters of users may return anything.
 */
import { z } from 'zod'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { withTimeout } from '../lib/timers.ts'
import type { PlatformAccount } from './accounts.ts'
import type { DiagnosticResult, Invitation } from './adapter.ts'
import { loadPlatform } from './registry.ts'

/** The limit for the import of an adapter and its diagnosis. */
export const diagnoseTimeoutMs = 10_000

const pageSchema = z.url({ protocol: /^https?$/ })

const diagnosesSchema = z.array(
  z.object({
    state: z.enum(['ok', 'note', 'problem']),
    text: z.string(),
    advice: z.string().optional(),
    link: pageSchema.optional().catch(undefined),
  }),
)

const invitationSchema = z.object({ name: z.string(), url: pageSchema, advice: z.string() })

/** Empty for a platform without a diagnosis; a problem has advice. Never rejects. */
export async function diagnoseAccount(
  account: PlatformAccount,
  gatewayUrl: string | undefined,
  limitMs = diagnoseTimeoutMs,
): Promise<readonly DiagnosticResult[]> {
  const controller = new AbortController()
  try {
    const diagnosis = await withTimeout(runDiagnose(account, gatewayUrl, controller.signal), limitMs)
    if (diagnosis.done) return diagnosis.value
    const advice = 'Check the network and the address of the platform, then run hermes doctor again.'
    return [{ state: 'problem', text: `no answer within ${limitMs / 1_000} s`, advice }]
  } catch (error) {
    if (isHermesError(error)) return [{ state: 'problem', text: error.message, advice: error.hint }]
    return [{ state: 'problem', text: `the diagnosis failed: ${messageOf(error)}`, advice: defaultAdvice(account) }]
  } finally {
    controller.abort()
  }
}

/** May throw anything. */
async function runDiagnose(
  account: PlatformAccount,
  gatewayUrl: string | undefined,
  signal: AbortSignal,
): Promise<readonly DiagnosticResult[]> {
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
  return diagnoses.data.map((result) =>
    result.state === 'problem' ? { ...result, advice: result.advice ?? defaultAdvice(account) } : result,
  )
}

/** Undefined when the platform does not say, or cannot be asked now. Never rejects. */
export async function inviteTo(
  account: PlatformAccount,
  gatewayUrl: string | undefined,
): Promise<Invitation | undefined> {
  const controller = new AbortController()
  const ask = async () => {
    const module = await loadPlatform(account.platform)
    const invitation = await module.invite?.(
      { account: account.account, options: account.options, gatewayUrl },
      controller.signal,
    )
    return invitationSchema.safeParse(invitation).data
  }
  try {
    const asked = await withTimeout(ask(), diagnoseTimeoutMs)
    return asked.done ? asked.value : undefined
  } catch {
    return undefined
  } finally {
    controller.abort()
  }
}

function defaultAdvice({ platform: { name } }: PlatformAccount): string {
  return `Check platforms.${name} in config.yaml and the network, then run hermes doctor again.`
}
