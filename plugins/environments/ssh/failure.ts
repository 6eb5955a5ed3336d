/**
 * What `ssh` says when it fails, as typed errors. ssh exits with 255, and its messages are in English in every locale.
 */
import { HermesError } from '#sdk'
import { nameOf, type SshTarget } from './target.ts'

/** The error for messages of `ssh` before anything ran on the host. */
export function connectionFailure(target: SshTarget, written: string): HermesError {
  const messages = decodeOctal(written)
  const name = nameOf(target)
  const said = lastLineOf(messages)
  if (/REMOTE HOST IDENTIFICATION HAS CHANGED|is revoked|POSSIBLE DNS SPOOFING/i.test(messages)) {
    return hostKeyChanged(target, messages)
  }
  if (/host key is known for|Host key verification failed/i.test(messages)) return hostKeyUnknown(target, messages)
  if (/Permission denied|Too many authentication failures|no mutual signature/i.test(messages)) {
    return new HermesError('environment/ssh-denied', `The host is ${name}. ssh says: ${said}`, {
      hint: deniedHint(target),
    })
  }
  if (/UNPROTECTED PRIVATE KEY FILE|Load key .* (?:invalid format|error in libcrypto)/i.test(messages)) {
    return new HermesError('environment/ssh-denied', `ssh cannot use the key: ${said}`, { hint: deniedHint(target) })
  }
  return new HermesError('environment/unreachable', `The host is ${name}. ssh says: ${said}`, {
    hint: `Check that it is on, and that \`ssh ${commandOf(target)} true\` works for the user of the gateway. The next command tries again.`,
  })
}

/**
 * Outside of a UTF-8 locale, `ssh` writes each byte of `ü` as an octal number. A path with such numbers names no file, and
 * messages contain commands to copy. Escaped control characters stay escaped.
 */
function decodeOctal(text: string): string {
  return text.replace(/(?:\\[23][0-7]{2})+/g, (escaped) => {
    const bytes = Buffer.from(
      escaped
        .split('\\')
        .slice(1)
        .map((digits) => Number.parseInt(digits, 8)),
    )
    const decoded = bytes.toString('utf8')
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u.test(decoded) && !decoded.includes('\ufffd') ? decoded : escaped
  })
}

function hostKeyChanged(target: SshTarget, messages: string): HermesError {
  const line = /Offending .* key in (\S.*:\d+)/.exec(messages)?.[1]
  const remove = /^\s*(ssh-keygen -f .* -R .*)$/m.exec(messages)?.[1]
  const fingerprint = /^(SHA256:\S+?)\.?$/m.exec(messages)?.[1]
  const detail = [
    `The host is ${nameOf(target)}.`,
    ...(line === undefined ? [] : [`The known key is in ${line}.`]),
    ...(fingerprint === undefined ? [] : [`The host now shows ${fingerprint}.`]),
  ].join(' ')
  return new HermesError('environment/ssh-host-key-changed', detail, {
    ...(remove === undefined
      ? {}
      : {
          hint: `Someone may be between you and the host. Only if its administrator confirms the new key, run: ${remove}`,
        }),
  })
}

function hostKeyUnknown(target: SshTarget, messages: string): HermesError {
  return new HermesError(
    'environment/ssh-host-key-unknown',
    `The host is ${nameOf(target)}. ssh says: ${messages.trim().split('\n')[0] ?? ''}`,
    {
      hint: `Run \`ssh ${commandOf(target)} true\` once as the user of the gateway and compare the fingerprint, or set \`terminal.ssh_host_keys: accept-new\`.`,
    },
  )
}

function deniedHint({ keyFile }: SshTarget): string {
  return keyFile === undefined
    ? 'Set `terminal.ssh_key`, or start an ssh agent for the user of the gateway. Passwords are not asked for.'
    : `Add the public key of ${keyFile} to ~/.ssh/authorized_keys of the account. A key with a passphrase needs an ssh agent.`
}

/** For people to type. */
function commandOf({ host, user, port, keyFile }: SshTarget): string {
  return [
    ...(port === undefined ? [] : [`-p ${port}`]),
    ...(keyFile === undefined ? [] : [`-i ${keyFile}`]),
    `${user === undefined ? '' : `${user}@`}${host}`,
  ].join(' ')
}

/** ssh ends with the sentence that counts; what precedes may be a banner of the host. */
function lastLineOf(messages: string): string {
  const lines = messages.split(/[\r\n]+/).filter((line) => line.trim() !== '')
  return (lines.at(-1) ?? 'nothing').trim().slice(0, 300)
}
