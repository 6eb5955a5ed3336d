/**
 * One of the two processes behind `npm test`.
 */
import { runHalf } from './half.ts'

await runHalf('second')
