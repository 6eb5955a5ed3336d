/**
 * The files of an environment that has none.
 */
import type { EnvironmentFiles } from '../../../src/agent/environments/files.ts'

const fail = () => Promise.reject(new Error('this environment has no files'))

export const noFiles: EnvironmentFiles = {
  resolve: (path) => path,
  check: fail,
  stat: fail,
  read: fail,
  writeAtomic: fail,
  remove: fail,
  list: fail,
  search: fail,
}
