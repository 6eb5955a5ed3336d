/**
 * From what hooks returned to what becomes of a command (contract §1.5).
 */
export type CommandVerdict =
  | { readonly kind: 'allow' }
  /** `message` is '' where the hook gave no reason. */
  | { readonly kind: 'deny'; readonly message: string }
  | { readonly kind: 'handled'; readonly message: string }
  /** `args` undefined: as they were typed. */
  | { readonly kind: 'rewrite'; readonly command: string; readonly args: string | undefined }

/**
 * The first answer that decides anything counts; to allow decides nothing. Whatever is no decision is passed over.
 * @param answers in the order of the hooks
 */
export function verdictOf(answers: readonly unknown[]): CommandVerdict {
  for (const answer of answers) {
    if (typeof answer !== 'object' || answer === null) continue
    const verdict = oneVerdict(new Map(Object.entries(answer)))
    if (verdict !== undefined) return verdict
  }
  return { kind: 'allow' }
}

function oneVerdict(answer: ReadonlyMap<string, unknown>): CommandVerdict | undefined {
  const decision = textOf(answer.get('decision')).trim().toLowerCase()
  const message = textOf(answer.get('message'))
  if (decision === 'deny' || decision === 'handled') return { kind: decision, message }
  if (decision !== 'rewrite') return undefined
  const command = textOf(answer.get('command_name')).trim().replace(/^\/+/, '').trim()
  if (command === '') return undefined
  const args = answer.get('raw_args')
  return { kind: 'rewrite', command, args: typeof args === 'string' ? args.trim() : undefined }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
