/**
 * Derives the decision about a command from the results of hooks (contract §1.5).
 */
export type CommandDecision =
  | { readonly kind: 'allow' }
  /** `message` is '' if the hook gave no reason. */
  | { readonly kind: 'deny'; readonly message: string }
  | { readonly kind: 'handled'; readonly message: string }
  /** `args` is `undefined` if the arguments stay unchanged. */
  | { readonly kind: 'rewrite'; readonly command: string; readonly args: string | undefined }

/**
 * The first result that denies, handles or rewrites the command. Other results are skipped.
 * @param results in the order of the hooks
 */
export function firstDecision(results: readonly unknown[]): CommandDecision {
  for (const result of results) {
    if (typeof result !== 'object' || result === null) continue
    const decision = parseDecision(new Map(Object.entries(result)))
    if (decision !== undefined) return decision
  }
  return { kind: 'allow' }
}

function parseDecision(fields: ReadonlyMap<string, unknown>): CommandDecision | undefined {
  const decision = stringOrEmpty(fields.get('decision')).trim().toLowerCase()
  const message = stringOrEmpty(fields.get('message'))
  if (decision === 'deny' || decision === 'handled') return { kind: decision, message }
  if (decision !== 'rewrite') return undefined
  const command = stringOrEmpty(fields.get('command_name')).trim().replace(/^\/+/, '').trim()
  if (command === '') return undefined
  const args = fields.get('raw_args')
  return { kind: 'rewrite', command, args: typeof args === 'string' ? args.trim() : undefined }
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
