/**
 * The checks of pairing: its files, and requests that wait.
 */
import { describeAccess, readAccessReport } from '../shared/access-report.ts'
import { type Check, note, ok, problem } from './check-result.ts'

export const checkPairing: Check = ({ context }) => {
  const report = readAccessReport(context)
  if (report.damaged.length > 0) {
    const advice =
      'Check with `hermes pairing list` and in the allow lists who has access, then delete the damaged files.'
    return [problem('Pairing', `damaged: ${report.damaged.join(', ')}`, advice)]
  }
  const lines = describeAccess(report).attention.map((line) => note('Pairing', line))
  return lines.length > 0 ? lines : [ok('Pairing', 'no one waits for access')]
}
