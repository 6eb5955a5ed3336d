/**
 * One small request to a model, to see whether its provider, its key and its address work.
 */
import type { Provider } from './provider.ts'

/** The time that the provider has to answer, ms. */
export const answerTimeoutMs = 20_000

/** Resolves with the answer. Rejects `ModelError`, and with the reason of the signal. */
export async function askOnce(
  provider: Provider,
  model: string,
  question: string,
  maxOutputTokens: number,
  signal: AbortSignal = AbortSignal.timeout(answerTimeoutMs),
): Promise<string> {
  const messages = [{ role: 'user' as const, content: question }]
  const request = provider.buildRequest({ model, system: '', messages, tools: [], maxOutputTokens })
  const chunks = provider.stream(request, signal)
  let step = await chunks.next()
  while (step.done !== true) step = await chunks.next()
  return provider.parseResponse(step.value).text
}
