/**
 * Servers that Hermes Agent or OpenClaw knows by a name, and this gateway only with an address: data for entries of `providers`.
 */
import { findProvider } from '../../agent/models/catalogue.ts'
import type { FoundSetting } from './contract.ts'

interface KnownServer {
  readonly base_url: string
  readonly key_env: string
}

const servers: Readonly<Record<string, KnownServer>> = {
  'nous-api': { base_url: 'https://inference-api.nousresearch.com/v1', key_env: 'NOUS_API_KEY' },
  groq: { base_url: 'https://api.groq.com/openai/v1', key_env: 'GROQ_API_KEY' },
  mistral: { base_url: 'https://api.mistral.ai/v1', key_env: 'MISTRAL_API_KEY' },
  together: { base_url: 'https://api.together.xyz/v1', key_env: 'TOGETHER_API_KEY' },
  cerebras: { base_url: 'https://api.cerebras.ai/v1', key_env: 'CEREBRAS_API_KEY' },
  deepinfra: { base_url: 'https://api.deepinfra.com/v1/openai', key_env: 'DEEPINFRA_API_KEY' },
  fireworks: { base_url: 'https://api.fireworks.ai/inference/v1', key_env: 'FIREWORKS_API_KEY' },
  'vercel-ai-gateway': { base_url: 'https://ai-gateway.vercel.sh/v1', key_env: 'AI_GATEWAY_API_KEY' },
}

/** The name under which this gateway knows a provider, and the settings that it needs for that. Undefined for an unknown name. */
export function adoptProvider(
  name: string,
): { readonly name: string; readonly settings: readonly FoundSetting[] } | undefined {
  if (name === 'auto' || name === 'none') return { name, settings: [] }
  const known = findProvider(name)
  if (known !== undefined) return { name: known.name, settings: [] }
  const key = name.toLowerCase()
  const server = Object.hasOwn(servers, key) ? servers[key] : undefined
  if (server === undefined) return undefined
  const change = `the address of ${key} was added`
  const settings = Object.entries(server).map(
    ([part, value]): FoundSetting => ({ kind: 'config', path: ['providers', key, part], value, change }),
  )
  return { name: key, settings }
}

/** A name for `providers`. */
export function toServerName(text: string): string {
  return (
    text
      .replace(/^custom:/, '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9_.-]+/g, '-')
      .replaceAll(/^[-._]+|[-._]+$/g, '')
      .slice(0, 64) || 'server'
  )
}
