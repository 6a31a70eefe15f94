"""A provider of identities for tests: `oidc-provider-mock`, which is Authlib's provider, with what
it leaves out.

Added are the secret of the client and PKCE, which are checked, the device flow (Authlib's own), and
`PUT /control`, by which a test makes the provider misbehave:

  {"claims": {...}}   claims of ID tokens, in place of the right ones
  {"hang": "/jwks"}   requests to this path are not answered for a minute
  {"rotate": true}    another key signs from now on
  {"named": false}    ID tokens do not say which key signed them
  {"device": false}   there is no device flow
  {"end_session": false}   it does not say where people sign out
  {"confidential_by": ["client_secret_post"]}   how clients prove themselves

It prints its port, and ends when its standard input does.
"""

import base64
import hashlib
import os
import sys
import threading
import time
import warnings

warnings.simplefilter("ignore")
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import flask
import oidc_provider_mock._app as mock
import werkzeug.serving
from authlib import jose
from authlib.oauth2 import OAuth2Error, rfc8628
from authlib.oidc.core.grants.code import OpenIDToken
from urllib.parse import parse_qs, urlparse

CLIENT, SECRET = "market", "a secret: 100%/plain"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

control = {"claims": {}, "hang": None, "device": True, "named": True}
challenges = {}
devices = {}
approvals = {}
polled = {}
counts = {}

mock.Client.GRANT_TYPES_SUPPORTED += (DEVICE,)
plain_user_info = mock.OpenIDCode.generate_user_info


def user_info(self, user, scope):
    """The last word on the claims of an ID token."""
    return {**plain_user_info(self, user, scope), **control["claims"]}


mock.OpenIDCode.generate_user_info = user_info


plain_header = mock.OpenIDCode.get_encode_header


def header(self, client):
    """With the key's id, unless a test wants none."""
    named = {"kid": mock.storage.jwk.as_dict()["kid"]} if control["named"] else {}
    return {**plain_header(self, client), **named}


mock.OpenIDCode.get_encode_header = header


class DeviceEndpoint(rfc8628.DeviceAuthorizationEndpoint):
    INTERVAL = 1

    def get_verification_uri(self):
        return flask.request.host_url + "device"

    def save_device_credential(self, client_id, scope, data):
        credential = {**data, "client_id": client_id, "scope": scope}
        credential["expires_at"] = time.time() + data["expires_in"]
        devices[data["device_code"]] = rfc8628.DeviceCredentialDict(credential)


class DeviceGrant(rfc8628.DeviceCodeGrant):
    def query_device_credential(self, device_code):
        return devices.get(device_code)

    def query_user_grant(self, user_code):
        return approvals.get(user_code)

    def should_slow_down(self, credential):
        code, now = credential["device_code"], time.monotonic()
        before = polled.get(code)
        polled[code] = now
        return before is not None and now - before < 0.5


class DeviceOpenID(mock.OpenIDCode):
    def __call__(self, grant):
        OpenIDToken.__call__(self, grant)


app = mock.app()
registered = []


def error(name, status=400):
    return flask.jsonify({"error": name}), status


def knows_client(form):
    basic = flask.request.authorization
    if basic is not None:
        from urllib.parse import unquote

        return (unquote(basic.username), unquote(basic.password)) == (CLIENT, SECRET)
    return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)


@app.before_request
def misbehave():
    path = flask.request.path
    counts[path] = counts.get(path, 0) + 1
    if control["hang"] == path:
        time.sleep(60)
    if not registered:
        registered.append(True)
        server = flask.g._authlib_authorization_server
        from datetime import timedelta

        server.register_grant(DeviceGrant, [DeviceOpenID(False, timedelta(hours=1))])
        server.register_endpoint(DeviceEndpoint)
    if path == "/oauth2/token":
        return token()
    if path == "/.well-known/openid-configuration":
        return description()
    return None


def description():
    answer = mock.openid_config().get_json()
    if control["device"]:
        answer["device_authorization_endpoint"] = flask.request.host_url + "oauth2/device"
    if not control.get("end_session", True):
        answer.pop("end_session_endpoint", None)
    if "confidential_by" in control:
        answer["token_endpoint_auth_methods_supported"] = control["confidential_by"]
    return flask.jsonify(answer)


def token():
    """Client and PKCE are checked here; the rest is the mock's, or Authlib's."""
    form = flask.request.form
    if not knows_client(form):
        return error("invalid_client", 401)
    if form.get("grant_type") == DEVICE:
        server = flask.g._authlib_authorization_server
        request = server.create_oauth2_request(None)
        try:
            grant = server.get_token_grant(request)
            grant.validate_token_request()
            return server.handle_response(*grant.create_token_response())
        except OAuth2Error as wrong:
            return server.handle_error_response(request, wrong)
    verifier = form.get("code_verifier", "").encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=").decode()
    if challenges.pop(form.get("code"), None) != digest:
        return error("invalid_grant")
    return None


@app.after_request
def remember_challenge(response):
    if flask.request.path == "/oauth2/authorize" and "Location" in response.headers:
        query = parse_qs(urlparse(response.headers["Location"]).query)
        arguments = flask.request.args
        if "code" in query and arguments.get("code_challenge_method") == "S256":
            challenges[query["code"][0]] = arguments.get("code_challenge")
    return response


@app.post("/oauth2/device")
def device_authorization():
    if not knows_client(flask.request.form):
        return error("invalid_client", 401)
    return flask.g._authlib_authorization_server.create_endpoint_response("device_authorization")


@app.post("/device")
def confirm():
    """What a person does in a browser."""
    form = flask.request.form
    user = mock.storage.get_user(form["sub"])
    approvals[form["user_code"]] = (user, form.get("action") != "deny")
    return "", 204


@app.put("/control")
def set_control():
    wanted = flask.request.get_json()
    if wanted.pop("rotate", False):
        mock.storage.jwk = jose.RSAKey.generate_key(is_private=True)
    control.update(wanted)
    return flask.jsonify(counts)


server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
