/**
 * Generates the table of the security controls.
 */
import { controls } from '../../security/controls.ts'
import { table } from './table.ts'

export function securityControls(): string {
  const rows = controls.map(({ id, promise, proofs }) => {
    const cases = proofs.map(({ what, count }) => `${count} ${what}`).join('<br>')
    const files = [...new Set(proofs.flatMap((proof) => proof.files))].map((file) => `\`${file}\``).join('<br>')
    return [id, promise, cases, files]
  })
  return table(['Control', 'Promise', 'Cases', 'Tests'], rows)
}
