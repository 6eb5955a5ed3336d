/**
 * The redirections of a command: where it writes to, and what it reads.
 */
import type { Command } from 'unbash'
import type { Input, Redirection } from './call.ts'
import { type ExpandContext, expandQuoted, expandWord } from './expand.ts'
import { literal } from './field.ts'

type Redirects = Command['redirects']
type HereDoc = Extract<Redirects[number], { type: 'HereDoc' }>

/** The files named; here-documents are none. */
export function redirectionsOf(redirects: Redirects, context: ExpandContext): Redirection[] {
  return redirects.flatMap((redirect) => {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return []
    const { operator } = redirect
    return expandWord(redirect.target, context).map((target) => ({ operator, target }))
  })
}

/** What the command reads: the last redirection of the input decides, `otherwise` where there is none. */
export function inputOf(redirects: Redirects, context: ExpandContext, otherwise: Input): Input {
  let found = otherwise
  for (const redirect of redirects) found = inputFrom(redirect, context) ?? found
  return found
}

function inputFrom(redirect: Redirects[number], context: ExpandContext): Input | undefined {
  if (redirect.type === 'HereDoc') return { kind: 'text', text: documentText(redirect, context) }
  const [field] = redirect.target === undefined ? [] : expandWord(redirect.target, context)
  if (redirect.type === 'HereString') return { kind: 'text', text: literal(field) }
  const reads = redirect.operator === '<' || redirect.operator === '<>'
  return reads && field !== undefined ? { kind: 'file', field } : undefined
}

/** The text of a here-document; undefined when a part of it is known only when it runs. */
export function documentText({ delimiter, body }: HereDoc, context: ExpandContext): string | undefined {
  if (delimiter?.quoted === true || body.parts === undefined) return body.text
  return literal(expandQuoted(body.parts, context))
}
