/**
 * What can be put around a managed call, from the contract that types it.
 */
import { table } from './table.ts'
import { type Member, typeIn, typeReference } from './types.ts'

const source = 'src/middleware/contract.ts'

/** Each family with what registers it, and how it fails when a registration does not say. */
const families = [
  ['Guardrails', 'registerGuardrail(name, on, …)', 'closed'],
  ['Intercepts', 'registerIntercept(name, point, …)', 'closed'],
  ['Sanitizers', 'registerSanitizer(name, point, …)', 'the event loses its payload'],
  ['HermesMiddlewareKinds', 'registerMiddleware(kind, …)', 'open'],
] as const

export function middlewarePoints(): string {
  const rows = families.flatMap(([family, how, fails]) => {
    const { members } = typeIn(source, family)
    if (members.length === 0) throw new Error(`${source}: ${family} has no members`)
    return members.map((member) => [`\`${how}\``, `\`${member.name}\``, callbackOf(member), fails])
  })
  return table(['Registered with', 'Point', 'Callback', 'Fails'], rows)
}

function callbackOf({ signature }: Member): string {
  return `\`${signature.slice(signature.indexOf(':') + 1).trim()}\``
}

/** Everything a callback gets or gives back. */
export function middlewareTypes(): string {
  return typeReference(source, [
    'MiddlewareRegistrar',
    'RegistrationOptions',
    'InterceptOptions',
    'FailureMode',
    'Registration',
    'CallView',
    'ToolCallView',
    'ModelCallView',
    'GuardrailDecision',
    'RewrittenRequest',
    'PendingMark',
    'Next',
    'HermesPayload',
    'LlmRequestPayload',
    'ToolRequestPayload',
    'RewriteResult',
    'RewriteTraceEntry',
    'LlmExecutionPayload',
    'ToolExecutionPayload',
    'Scope',
    'ScopeSpec',
    'ManagedEvent',
    'EventFields',
  ])
}
