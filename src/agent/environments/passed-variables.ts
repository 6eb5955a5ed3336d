/**
 * Which variables of the gateway a command may have, and where they are from.
 */
import type { Environment } from '../../config/environment.ts'
import { catalogue } from '../models/catalogue.ts'

/** Credentials of the gateway itself, of model providers, and of memory providers. */
const credentialPattern =
  /^(?:(?:HERMES|GATEWAY)_\w*(?:KEY|TOKEN|SECRET|PASSWORD)$|(?:OPENAI|ANTHROPIC|OPENROUTER|NOUS|DEEPSEEK|GEMINI|GOOGLE_AI|AZURE_OPENAI|XAI|ZAI|GLM|KIMI|MOONSHOT|MINIMAX|MISTRAL|GROQ|MEM0|HONCHO)_)/

const providerKeys: ReadonlySet<string> = new Set(Object.values(catalogue).flatMap(({ keyVariables }) => keyVariables))

/** Whether no setting and no skill passes the variable to a command. */
export function isGatewayCredential(name: string): boolean {
  return credentialPattern.test(name) || providerKeys.has(name)
}

/** The process variables, and those of `.env` that the operator names: it is otherwise for the configuration only. */
export function withNamedVariables(
  { process, file }: Pick<Environment, 'process' | 'file'>,
  names: readonly string[],
): Environment['process'] {
  const named = names.flatMap((name) => (Object.hasOwn(file, name) ? [[name, file[name]] as const] : []))
  return { ...Object.fromEntries(named), ...process }
}
