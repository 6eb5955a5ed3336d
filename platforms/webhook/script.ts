/**
 * The script of a route: it changes the payload, or ignores the event (contract hermes.md §5).
 */
import { isRecord, type PlatformAutomation, parseJson } from '#sdk'
import type { Payload } from './payload.ts'

export type ScriptDecision =
  | { readonly kind: 'go-on'; readonly payload: Payload }
  /** `reason`: '' when the script says so, otherwise why it failed. */
  | { readonly kind: 'ignore'; readonly reason: string }

/** Rejects when the script cannot be started, or with the signal's reason. */
export async function applyScript(
  automation: Pick<PlatformAutomation, 'runScript'>,
  script: string,
  payload: Payload,
  signal: AbortSignal,
): Promise<ScriptDecision> {
  const { ok, output } = await automation.runScript(script, JSON.stringify(payload), signal)
  if (!ok) return { kind: 'ignore', reason: output.slice(0, 500) }
  const text = output.trim()
  if (text === '' || text === '[SILENT]') return { kind: 'ignore', reason: '' }
  const changed = parseObject(text)
  if (changed === undefined) return { kind: 'go-on', payload: { ...payload, script_output: text } }
  return changed['__hermes_ignore__'] === true ? { kind: 'ignore', reason: '' } : { kind: 'go-on', payload: changed }
}

function parseObject(text: string): Payload | undefined {
  if (!text.startsWith('{')) return undefined
  const value = parseJson(text)
  return isRecord(value) ? value : undefined
}
