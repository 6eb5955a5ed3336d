/**
 * Variables of a process that say where it is and what it loads, not how it works. The variables of another program
 * are not taken.
 */
const names = new Set([
  ...['HERMES_HOME', 'HERMES_PROFILE', 'HOME', 'PATH', 'PWD', 'SHELL', 'USER', 'LOGNAME', 'TMPDIR', 'BASH_ENV', 'ENV'],
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP'],
])

export function isMachineVariable(name: string): boolean {
  return names.has(name) || /^(?:LD|DYLD)_/.test(name)
}
